// What two well-known queues on PostgreSQL do with jobs of nothing, on the same server as the hub:
// one by one, as they come out of the box, and in batches. `node rivals.mjs URL [JOBS]`
import pg from "pg";
import PgBoss from "pg-boss";
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const [url, count = "20000"] = process.argv.slice(2);
const jobs = Number(count);

function told(what, began) {
  const rate = Math.round((jobs * 1000) / (performance.now() - began));
  console.log(`${what.padEnd(40)} ${String(rate).padStart(8)}/s`);
}

async function graphile(what, preset) {
  const utils = await makeWorkerUtils({ connectionString: url });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query("select graphile_worker.add_job('nothing', '{}') from generate_series(1, $1)", [jobs]),
  );
  await utils.release();
  let left = jobs;
  let over;
  const done = new Promise((resolve) => (over = resolve));
  const began = performance.now();
  const runner = await run({
    connectionString: url,
    concurrency: 64,
    maxPoolSize: 20,
    logger: new Logger(() => () => {}),
    taskList: { nothing: async () => --left === 0 && over() },
    noHandleSignals: true,
    ...preset,
  });
  await done;
  await runner.stop();
  told(what, began);
}

async function boss(what, batch) {
  const it = new PgBoss({ connectionString: url, schema: "boss", max: 20 });
  it.on("error", console.error);
  await it.start();
  const queue = `nothing-${batch}`;
  await it.createQueue(queue);
  for (let at = 0; at < jobs; at += 1000) {
    await it.insert(Array.from({ length: Math.min(1000, jobs - at) }, () => ({ name: queue, data: {} })));
  }
  const began = performance.now();
  const work = async () => {
    for (;;) {
      const taken = await it.fetch(queue, { batchSize: batch });
      if (!taken || taken.length === 0) return;
      await it.complete(queue, taken.map((job) => job.id));
    }
  };
  await Promise.all(Array.from({ length: batch === 1 ? 16 : 4 }, work));
  told(what, began);
  await it.stop({ graceful: false });
}

const one = new pg.Client(url);
await one.connect();
await one.query("drop schema if exists graphile_worker cascade; drop schema if exists boss cascade");
await one.end();
await graphile("graphile-worker, one by one", {});
await graphile("graphile-worker, in batches", {
  preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0, concurrentJobs: 64 } },
});
await boss("pg-boss, one by one", 1);
await boss("pg-boss, in batches", 1000);
process.exit(0);
