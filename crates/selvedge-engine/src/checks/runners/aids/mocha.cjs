// Selvedge's: mocha takes one reporter, so this is its `spec` for people, and notes what that is told.

const { realpathSync, writeFileSync } = require('fs');
const { createRequire } = require('module');
// The very mocha that runs.
const { Spec } = createRequire(realpathSync(process.argv[1]))('mocha').reporters;

module.exports = function (runner, options) {
  const all = { stats: { suites: 0 }, passes: [], pending: [], failures: [] };
  const note = (list) => (test, error) => {
    const err = error ? { message: String(error.message), stack: String(error.stack) } : {};
    // What goes before or after the tests of a suite goes by the name of the suite.
    const told = test.type === 'hook' ? test.parent : test;
    list.push({ fullTitle: told.titlePath().join(' > '), file: test.file, err });
  };
  runner.on('pass', note(all.passes));
  runner.on('pending', note(all.pending));
  runner.on('fail', note(all.failures));
  runner.on('end', () => writeFileSync({report}, JSON.stringify(all)));
  return new Spec(runner, options);
};
