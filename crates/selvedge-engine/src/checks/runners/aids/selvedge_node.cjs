// Part of Selvedge, loaded first into every Node process: makes assertions that must fail with the functions that the
// tests have used, and behind a wrapper makes the test runner write a report.
//
// At its end, each process writes the names of those that pass next to this file: then the results of its tests are
// worthless.

'use strict';

const assert = require('assert');
const { spawnSync } = require('child_process');
const { appendFileSync, realpathSync, writeFileSync } = require('fs');
const { EventEmitter } = require('events');
const Module = require('module');
const { join } = require('path');
const util = require('util');

// The folder for reports, set behind a wrapper. Processes that a runner starts do not write reports.
const reports = process.env.SELVEDGE_REPORTS;
const isolated = !process.execArgv.some((word) => /^--(experimental-)?test-isolation=none$/.test(word));
const testing = process.env.NODE_TEST_CONTEXT !== undefined || !isolated;
const nodeTest = ['test', 'it', 'describe', 'suite', 'before', 'after'].map((name) => [
  name,
  testing ? require('node:test')[name] : undefined,
]);

const nothing = () => {};

/** Assertions of Node's own module that must throw. */
function* ofAssert() {
  yield ['another assert', () => {
    // The working directory may have been removed.
    const loaded = Module.createRequire(join(process.cwd(), 'canary'));
    if (loaded('assert') === assert) throw new Error();
  }];
  for (const [kind, module] of [['assert', assert], ['assert.strict', assert.strict]]) {
    const probes = {
      ok: [false],
      equal: [1, 2],
      notEqual: [1, 1],
      deepEqual: [{ a: 1 }, { a: 2 }],
      notDeepEqual: [[1], [1]],
      strictEqual: [1, 2],
      notStrictEqual: [1, 1],
      deepStrictEqual: [[1], [2]],
      notDeepStrictEqual: [[1], [1]],
      throws: [nothing],
      doesNotThrow: [() => { throw new Error(); }],
      match: ['a', /b/],
      doesNotMatch: ['a', /a/],
      ifError: [new Error()],
      fail: [],
    };
    if (typeof module === 'function') yield [kind, () => module(false)];
    for (const [name, values] of Object.entries(probes)) {
      // Older releases have fewer functions.
      if (module && module[name]) yield [`${kind}.${name}`, () => module[name](...values)];
    }
  }
}

/** Probes of the language features that assertions use. Each must throw. */
function* ofLanguage() {
  const fails = (holds) => () => { if (!holds()) throw new Error(); };
  yield ['Object.is', fails(() => Object.is(1, 2))];
  yield ['JSON.stringify', fails(() => JSON.stringify({ a: 1 }) === JSON.stringify({ a: 2 }))];
  yield ['Array.prototype.every', fails(() => [1].every((item) => item === 2))];
  yield ['Array.prototype.some', fails(() => [1].some((item) => item === 2))];
  yield ['Array.prototype.includes', fails(() => [1].includes(2))];
  yield ['util.isDeepStrictEqual', fails(() => util.isDeepStrictEqual([1], [2]))];
  yield ['EventEmitter.emit', fails(() => received(new EventEmitter(), (it) => it.emit('result', { ok: false })))];
  for (const [name, known] of nodeTest) {
    if (known) yield [`node:test.${name}`, fails(() => require('node:test')[name] !== known)];
  }
}

/** Assertions of `expect` of jest and vitest that must throw. */
function* ofExpect(expect) {
  const probes = {
    toBe: [1, 2],
    toEqual: [{ a: 1 }, { a: 2 }],
    toStrictEqual: [[1], [2]],
    toBeTruthy: [false],
    toBeFalsy: [true],
    toBeNull: [1],
    toBeUndefined: [1],
    toBeDefined: [undefined],
    toBeNaN: [1],
    toBeGreaterThan: [1, 2],
    toBeGreaterThanOrEqual: [1, 2],
    toBeLessThan: [2, 1],
    toBeLessThanOrEqual: [2, 1],
    toBeCloseTo: [1, 2],
    toBeInstanceOf: [{}, Date],
    toContain: [[1], 2],
    toContainEqual: [[1], 2],
    toHaveLength: [[1], 2],
    toHaveProperty: [{}, 'a'],
    toMatch: ['a', /b/],
    toMatchObject: [{ a: 1 }, { a: 2 }],
    toThrow: [nothing],
  };
  for (const [name, [value, ...values]] of Object.entries(probes)) {
    yield [`expect.${name}`, () => expect(value)[name](...values)];
  }
  yield ['expect.not', () => expect(1).not.toBe(1)];
}

/** Assertions of chai that must throw. */
function* ofChai({ assert, expect }) {
  if (assert) {
    yield ['chai.assert', () => assert(false)];
    yield ['chai.assert.ok', () => assert.ok(false)];
    yield ['chai.assert.equal', () => assert.equal(1, 2)];
    yield ['chai.assert.strictEqual', () => assert.strictEqual(1, 2)];
    yield ['chai.assert.deepEqual', () => assert.deepEqual([1], [2])];
    yield ['chai.assert.throws', () => assert.throws(nothing)];
  }
  if (expect) {
    yield ['chai.expect.equal', () => expect(1).to.equal(2)];
    yield ['chai.expect.eql', () => expect([1]).to.eql([2])];
    yield ['chai.expect.true', () => expect(false).to.be.true];
    yield ['chai.expect.include', () => expect([1]).to.include(2)];
    yield ['chai.expect.throw', () => expect(nothing).to.throw()];
    yield ['chai.expect.not', () => expect(1).to.not.equal(1)];
  }
}

/** Returns whether an emitter reports success in its event `result`, as the tests of tape do. */
function received(emitter, act) {
  let ok = false;
  emitter.on('result', (result) => { ok = result.ok; });
  act(emitter);
  return ok;
}

/** Assertions of tape that must report a failure. */
function* ofTape(Test) {
  const probes = { ok: [false], equal: [1, 2], deepEqual: [[1], [2]], notEqual: [1, 1], throws: [nothing] };
  for (const [name, values] of Object.entries(probes)) {
    yield [`tape.${name}`, () => { if (!received(new Test('canary'), (it) => it[name](...values))) throw new Error(); }];
  }
}

/** Assertions of uvu that must throw. */
function* ofUvu(uvu) {
  const probes = { ok: [false], is: [1, 2], equal: [[1], [2]], not: [true], throws: [nothing] };
  for (const [name, values] of Object.entries(probes)) yield [`uvu.${name}`, () => uvu[name](...values)];
}

/** Returns whether a module's file is in this package. */
const isOf = (name) => (file) => file.includes(`/node_modules/${name}/`);

function* probes({ expect, modules }) {
  yield* ofAssert();
  yield* ofLanguage();
  if (typeof expect === 'function') yield* ofExpect(expect);
  for (const [file, module] of modules) {
    const exports = module?.exports;
    if (isOf('chai')(file) && exports?.assert && exports.expect) yield* ofChai(exports);
    if (isOf('tape')(file) && file.endsWith('/lib/test.js')) yield* ofTape(exports);
    if (isOf('uvu')(file) && exports?.ok && exports.is) yield* ofUvu(exports);
  }
}

const written = new Set();

/** Runs the probes. `within` has the `expect` of the tests, their modules by file, and further outcomes. */
function canary(within = {}) {
  const expect = within.expect ?? globalThis.expect ?? globalThis[Symbol.for('expect-global')];
  const modules = within.modules ?? Object.entries(require.cache);
  const outcomes = new Set(within.others);
  for (const [name, probe] of probes({ expect, modules })) {
    try {
      probe();
      outcomes.add(`passed ${name}`);
    } catch {
      // As expected.
    }
  }
  const added = [...outcomes].filter((outcome) => !written.has(outcome));
  for (const outcome of added) written.add(outcome);
  if (added.length === 0) return;
  try {
    appendFileSync(join(__dirname, 'canary'), [...added, ''].join('\n'));
  } catch {
    // No file can be written after the tests, so no outcome is recorded.
  }
}

/** Records that this process runs tests, and returns the path of its report. */
function begin(runner) {
  delete process.env.SELVEDGE_REPORTS;
  writeFileSync(join(reports, `started-${runner}-${process.pid}`), '');
  return join(reports, `report-${runner}-${process.pid}`);
}

/** Replaces the exports of modules whose path matches, unless `replace` returns nothing. */
function onLoad(pattern, replace) {
  const load = Module._load;
  const replaced = new Map();
  Module._load = function (request, parent, isMain) {
    const exports = load.apply(this, arguments);
    if (exports === null || !['object', 'function'].includes(typeof exports)) return exports;
    if (replaced.has(exports)) return replaced.get(exports);
    if (!pattern.test(request)) return exports;
    const other = replace(exports) ?? exports;
    replaced.set(exports, other);
    return other;
  };
}

/** Whether an environment of tests removes the errors of a failed one, which it gets as jest-circus passes it. */
async function dropsErrors(environment) {
  if (typeof environment.handleTestEvent !== 'function') return false;
  const [error, asyncError] = [new Error('expected 1, got 2'), new Error()];
  const parent = { type: 'describeBlock', name: 'ROOT_DESCRIBE_BLOCK', children: [], hooks: [], tests: [] };
  const test = { type: 'test', name: 'adds', mode: null, failing: false, status: null, errors: [], asyncError, parent };
  const failure = { name: 'test_fn_failure', error, test };
  for (const event of [failure, { name: 'test_done', test }]) {
    try {
      await environment.handleTestEvent(event, { currentlyRunningTest: test, rootDescribeBlock: parent });
    } catch {
      // It expects more of a test.
    }
    if (event === failure && event.error !== undefined) test.errors.push([event.error, asyncError]);
  }
  return test.errors.length === 0 || test.failing;
}

/** Wraps the function by which jest runs a test file; its third argument is the environment of the tests. */
function afterEachFile(run) {
  return async function (globalConfig, config, environment, runtime) {
    const result = await run.apply(this, arguments);
    try {
      const expect = environment.global?.expect ?? runtime?.jestGlobals?.expect;
      const others = (await dropsErrors(environment)) ? ['passed the test environment'] : [];
      canary({ expect, modules: [...(runtime?._moduleRegistry ?? [])], others });
    } catch {
      // An unknown version of jest.
    }
    return result;
  };
}

const program = process.argv[1] === undefined ? '' : real(process.argv[1]);
function real(path) {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Returns whether the program belongs to a package, or is one of its workers. */
const isOfPackage = (pattern) => pattern.test(program);

if (isOfPackage(/[\\/]jest(-[a-z]+)?[\\/]/)) {
  onLoad(/[\\/]jest-(circus|jasmine2)[\\/].*(runner|jestAdapter|index)(\.js)?$/, (exports) => {
    const run = exports?.default ?? exports;
    if (typeof run !== 'function' || run.length < 4) return undefined;
    const wrapped = afterEachFile(run);
    return run === exports ? wrapped : { ...exports, __esModule: true, default: wrapped };
  });
}
// vitest's workers are killed, but send the results of the tests before that.
if (process.send && isOfPackage(/[\\/](vitest|tinypool)[\\/]/)) {
  const send = process.send;
  process.send = function () {
    if (globalThis[Symbol.for('expect-global')]) canary();
    return send.apply(this, arguments);
  };
}
process.on('exit', () => canary());

/** Records the outcome and file of each test of node:test. Node's own reports omit the file. */
class NodeTestRecorder {
  // The names of the running suites and tests, outermost first.
  open = [];

  constructor(results = { stats: { suites: 0 }, passes: [], pending: [], failures: [] }) {
    this.results = results;
  }

  record(type, data) {
    if (type === 'test:start') {
      this.open.length = data.nesting;
      this.open.push(data.name);
    }
    const passes = type === 'test:pass';
    // A suite is not a test; its tests are reported.
    if (!(passes || type === 'test:fail') || data.details?.type === 'suite') return;
    const excused = data.skip !== undefined || data.todo !== undefined;
    const { pending, failures } = this.results;
    const list = excused ? pending : passes ? this.results.passes : failures;
    const fullTitle = [...this.open.slice(0, data.nesting), data.name].join(' > ');
    // A file that does not load, or has no tests, counts as a test.
    const isFile = data.name === data.file && data.nesting === 0;
    list.push({ fullTitle, file: isFile ? undefined : data.file, err: {} });
  }
}

/** Makes each call of `run` of node:test write a report: of runners that print the results in their own way. */
function recordRuns() {
  const exported = require('node:test');
  const { run } = exported;
  const { results } = new NodeTestRecorder();
  let report;
  exported.run = function () {
    if (report === undefined) {
      report = begin('node-test');
      process.on('exit', () => writeFileSync(report, JSON.stringify(results)));
    }
    const stream = run.apply(this, arguments);
    const recorder = new NodeTestRecorder(results);
    for (const type of ['test:start', 'test:pass', 'test:fail']) {
      stream.on(type, (data) => recorder.record(type, data));
    }
    return stream;
  };
  Module.syncBuiltinESMExports();
}

module.exports = { canary, NodeTestRecorder };

const given = (...options) =>
  process.argv.slice(2).some((word) => options.includes(word.split(/[=.]/)[0]));

if (reports && isOfPackage(/[\\/]jest(-cli)?[\\/]bin[\\/]jest\.js$/)) {
  const others = ['--json', '--outputFile', '--listTests', '--showConfig', '--version', '-v', '--help', '-h'];
  if (!given(...others, '--watch', '--watchAll', '--init', '--clearCache')) {
    process.argv.splice(2, 0, '--json', `--outputFile=${begin('jest')}`);
  }
} else if (reports && isOfPackage(/[\\/]vitest[\\/]vitest\.mjs$/)) {
  const others = ['--outputFile', '--watch', '-w', '--version', '-v', '--help', '-h', '--ui', '--standalone'];
  const [command = 'run'] = process.argv.slice(2).filter((word) => !word.startsWith('-'));
  if (!given(...others) && !['bench', 'list', 'init', 'watch', 'dev'].includes(command)) {
    const usual = given('--reporter') ? [] : ['--reporter=default'];
    process.argv.splice(2, 0, ...usual, '--reporter=json', `--outputFile.json=${begin('vitest')}`);
  }
} else if (reports && isOfPackage(/[\\/]mocha[\\/](bin|lib[\\/]cli)[\\/]/)) {
  try {
    // The mocha that is running. A project may configure its reporter in many places; Selvedge's only listens.
    const loaded = Module.createRequire(program)('mocha');
    const { prototype } = loaded.default ?? loaded;
    const { run } = prototype;
    prototype.run = function () {
      const Reporter = this._reporter;
      const report = begin('mocha');
      this._reporter = function (runner, options) {
        require('./mocha.cjs').listen(runner, report);
        return new Reporter(runner, options);
      };
      return run.apply(this, arguments);
    };
  } catch {
    // An unknown version of mocha: its output is read instead.
  }
} else if (reports && process.execArgv.includes('--test')) {
  const others = ['--test-reporter', '--test-reporter-destination', '--watch'];
  if (!process.execArgv.some((word) => others.includes(word.split('=')[0]))) {
    const file = begin('node-test');
    const ours = [
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      `--test-reporter=${join(__dirname, 'node.mjs')}`,
      `--test-reporter-destination=${file}`,
    ];
    const words = [...process.execArgv, ...ours, ...process.argv.slice(1)];
    const { status, signal } = spawnSync(process.execPath, words, { stdio: 'inherit' });
    if (signal) process.kill(process.pid, signal);
    process.exit(status ?? 1);
  }
} else if (reports) {
  try {
    recordRuns();
  } catch {
    // A release without node:test.
  }
}
