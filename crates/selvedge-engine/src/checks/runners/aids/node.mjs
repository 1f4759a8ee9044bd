// Part of Selvedge: reports the outcome and file of each test of node:test. Node's own reports omit the file.

const isFile = (data) => data.name === data.file && data.nesting === 0;

export default async function* (events) {
  const told = { stats: { suites: 0 }, passes: [], pending: [], failures: [] };
  // The names of the running suites and tests, outermost first.
  const open = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      open.length = data.nesting;
      open.push(data.name);
    }
    const passes = type === 'test:pass';
    // A suite is not a test; its tests are reported.
    if (!(passes || type === 'test:fail') || data.details?.type === 'suite') continue;
    const excused = data.skip !== undefined || data.todo !== undefined;
    const list = excused ? told.pending : passes ? told.passes : told.failures;
    const fullTitle = [...open.slice(0, data.nesting), data.name].join(' > ');
    // A file that does not load, or has no tests, counts as a test.
    const file = isFile(data) ? undefined : data.file;
    list.push({ fullTitle, file, err: {} });
  }
  yield JSON.stringify(told);
}
