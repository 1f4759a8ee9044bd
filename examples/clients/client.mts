// A client for a hub in TypeScript, with types that are generated from its OpenAPI document:
//   npm install openapi-fetch openapi-typescript
//   npx openapi-typescript http://127.0.0.1:7700/openapi.json --output hub.d.ts
// Submits a task, follows its events until it ends, and prints its outcome, its reports and its place in the list.
import createClient from "openapi-fetch";
import type { components, paths } from "./hub.d.ts";

const { SELVEDGE_HUB: hub, SELVEDGE_TOKEN: token, TASK } = process.env;
const client = createClient<paths>({ baseUrl: hub, headers: { Authorization: `Bearer ${token}` } });

const task: components["schemas"]["Task"] = JSON.parse(TASK ?? "{}");
// With a key, the request may be repeated: it creates one task.
const header = { "Idempotency-Key": crypto.randomUUID() };
const { data: submitted, error } = await client.POST("/api/v1/tasks", { body: task, params: { header } });
if (!submitted) throw new Error(`rejected: ${error?.title} ${error?.detail ?? ""}`);
const params = { path: { id: submitted.task_id } };

// The stream ends with the task.
const { data: events } = await client.GET("/api/v1/tasks/{id}/events", { params, parseAs: "text" });
const journal = (events ?? "").split("\n").filter((line) => line.startsWith('data: {"v":'));
const last: components["schemas"]["Envelope"] = JSON.parse(journal.at(-1)?.slice(6) ?? "{}");

const { data: row } = await client.GET("/api/v1/tasks/{id}", { params });
console.log(`${row?.state}: ${row?.outcome}, ${row?.attempts} attempts`);
const { data: result } = await client.GET("/api/v1/tasks/{id}/result", { params });
const { data: page } = await client.GET("/api/v1/tasks/{id}/reports", { params });
console.log(`${result?.verification_status}, reports: ${page?.reports.map((report) => report.status)}`);
const { data: list } = await client.GET("/api/v1/tasks", { params: { query: { limit: 10 } } });
console.log(`listed: ${list?.tasks.some((it) => it.task_id === submitted.task_id)}, last event: ${last.type}`);
