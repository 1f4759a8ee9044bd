// Part of Selvedge: reports the outcome and file of each test of node:test.

import { NodeTestRecorder } from './selvedge_node.cjs';

export default async function* (events) {
  const recorder = new NodeTestRecorder();
  for await (const { type, data } of events) recorder.record(type, data);
  yield JSON.stringify(recorder.results);
}
