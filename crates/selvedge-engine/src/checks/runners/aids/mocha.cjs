// Part of Selvedge. Mocha supports one reporter, so this one prints `spec` output for people and records results.

'use strict';

const { realpathSync, writeFileSync } = require('fs');
const { createRequire } = require('module');
const { canary } = require('./selvedge_node.cjs');

/** Runs a test that must fail, and returns whether the runner reports the failure. */
function outcome(runner, test) {
  const error = new Error('this test must fail');
  let caught;
  try {
    const Test = test.constructor;
    const failing = new Test('canary', () => { throw error; });
    failing.parent = new runner.suite.constructor('canary');
    failing.ctx = {};
    failing.run((problem) => { caught = problem; });
    if (caught !== error) return 'passed a test';
    const Runner = runner.constructor;
    const other = new Runner(failing.parent, {});
    let failures = 0;
    other.on('fail', () => { failures += 1; });
    other.fail(failing, error);
    return failures === 1 && other.failures === 1 ? 'failed' : 'passed the failure of a test';
  } catch {
    // An unknown version of mocha.
    return 'failed';
  }
}

/** The titles of a test or suite and of the suites around it; mocha before version 4 has no method for them. */
function titlePath(named) {
  if (typeof named.titlePath === 'function') return named.titlePath();
  const titles = [];
  for (let at = named; at; at = at.parent) {
    if (at.title) titles.unshift(at.title);
  }
  return titles;
}

/** Records a runner's results, and writes them at the end. */
function listen(runner, report) {
  const all = { stats: { suites: 0 }, passes: [], pending: [], failures: [] };
  let last;
  const note = (list) => (test, error) => {
    const err = error ? { message: String(error.message), stack: String(error.stack) } : {};
    // A failed hook is recorded under the name of its suite.
    const named = test.type === 'hook' ? test.parent : test;
    if (test.type === 'test') last = test;
    list.push({ fullTitle: titlePath(named).join(' > '), file: test.file, err });
  };
  runner.on('pass', note(all.passes));
  runner.on('pending', note(all.pending));
  runner.on('fail', note(all.failures));
  runner.on('end', () => {
    canary({ others: last ? [outcome(runner, last)] : [] });
    writeFileSync(report, JSON.stringify(all));
  });
}

module.exports = function (runner, options) {
  listen(runner, {report});
  // The mocha that is running.
  const { Spec } = createRequire(realpathSync(process.argv[1]))('mocha').reporters;
  return new Spec(runner, options);
};
module.exports.listen = listen;
