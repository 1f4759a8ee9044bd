// A client for a hub in TypeScript, with types that are generated from its OpenAPI document:
//   npm install openapi-fetch openapi-typescript
//   npx openapi-typescript http://127.0.0.1:7700/openapi.json --output hub.d.ts
// Submits a task, waits until it ends, and prints its outcome.
import createClient from "openapi-fetch";
import type { components, paths } from "./hub.d.ts";

const { SELVEDGE_HUB: hub, SELVEDGE_TOKEN: token, TASK } = process.env;
const client = createClient<paths>({ baseUrl: hub, headers: { Authorization: `Bearer ${token}` } });

const task: components["schemas"]["Task"] = JSON.parse(TASK ?? "{}");
const { data: submitted, error } = await client.POST("/api/v1/tasks", { body: task });
if (!submitted) throw new Error(`rejected: ${error?.title} ${error?.detail ?? ""}`);

const id = submitted.task_id;
const final = ["succeeded", "failed", "cancelled", "dead", "needs_review"];
for (;;) {
  const { data: row } = await client.GET("/api/v1/tasks/{id}", { params: { path: { id } } });
  if (row && final.includes(row.state)) {
    console.log(`${row.state}: ${row.outcome}, ${row.attempts} attempts`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
}
