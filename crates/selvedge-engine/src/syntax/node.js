// Parses JavaScript and TypeScript without running any of it. Reads lines of `LANGUAGE`, `FILE` and `NAME`, separated
// by tabs, from standard input, and answers as `answer.rs` describes. The argument is the workspace: TypeScript is
// parsed by the one that the project itself has installed, found from the file's folder upwards.

'use strict';

const { spawnSync } = require('child_process');
const { readFileSync } = require('fs');
const { createRequire } = require('module');
const { dirname, extname, join } = require('path');
const vm = require('vm');

const workspace = process.argv[1];

const answer = (...fields) => console.log(fields.map((field) => String(field).replace(/\p{Cc}/gu, ' ')).join('\t'));

/** As a script, as the body of a function (which CommonJS modules are), or as a module: names do not tell. */
const WAYS = [
  (text) => new vm.Script(text),
  (text) => vm.compileFunction(text.replace(/^#!.*/, '')),
  (text) => new vm.SourceTextModule(text),
];

/** Syntax that older versions of node reject. */
const NEWER = new RegExp(
  [
    /^Invalid regular expression/,
    /^\s*(export\s+(default\s+)?)?@/,
    /\b(using|accessor)\s+[\w#[]/,
    /\bimport[\s.]+(defer|source)\b/,
    /\b(assert|with)\s*\{/,
  ].map((pattern) => pattern.source).join('|'),
  'm',
);

/** Line, column (0 if unknown) and message, from what node shows: the line, and a mark below the column. */
function place(shown, message) {
  const [, line = 1, text, before] = /^.*:(\d+)\n(?:(.*)\n([\t ]*)\^)?/.exec(shown) ?? [];
  const column = text === undefined ? 0 : [...text.slice(0, before.length)].length + 1;
  return [Number(line), column, message];
}

/** The error of the most likely way to read the file, if node rejects all of them. */
function nodeFault(name, text) {
  const faults = [];
  for (const way of WAYS) {
    try {
      way(text);
      return undefined;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      faults.push(place(error.stack, error.message));
    }
  }
  const [script, body, module] = faults;
  if (name.endsWith('.mjs') || /^[\t ]*(import|export)\b/m.test(text)) {
    // The error of a module does not tell its place.
    const args = ['--input-type=module', '--check'];
    const { stderr } = spawnSync(process.execPath, args, { input: text, encoding: 'utf8' });
    return place(stderr, module[2]);
  }
  const isFurther = body[0] > script[0] || (body[0] === script[0] && body[1] > script[1]);
  return isFurther ? body : script;
}

/** Why a rejection by node is uncertain, if it is. */
function doubt([line, , message], text) {
  if (/@(no)?flow\b/.test(text.slice(0, 2000))) return 'it is written in Flow';
  const isNewer = NEWER.test(`${message}\n${text.split('\n')[line - 1]}`);
  return isNewer ? 'it may be newer than the installed node' : undefined;
}

const compilers = new Map();

/** The TypeScript of a file's folder: its parser, or its command line if it has no parser (since version 7). */
function compilerFor(name) {
  const folder = dirname(join(workspace, name));
  if (!compilers.has(folder)) {
    compilers.set(folder, undefined);
    try {
      const load = createRequire(join(folder, '_'));
      const ts = load('typescript');
      const tsc = join(dirname(load.resolve('typescript/package.json')), 'bin/tsc');
      compilers.set(folder, ts.createSourceFile ? { ts } : { tsc });
    } catch {
      // It is not installed, or does not work.
    }
  }
  return compilers.get(folder);
}

const KINDS = { '.js': 'JSX', '.ts': 'TS', '.tsx': 'TSX' };

function typescriptFault(text, { start, messageText }) {
  const before = text.slice(0, start).split('\n');
  const message = typeof messageText === 'string' ? messageText : messageText.messageText;
  return [before.length, [...before.at(-1)].length + 1, message];
}

/** Whether it holds syntax that a build step removes from JavaScript: JSX, types, decorators. */
function isBuilt(ts, node) {
  const isType = ts.isTypeNode(node) && node.kind !== ts.SyntaxKind.ExpressionWithTypeArguments;
  return isType || ts.isJsxOpeningLikeElement(node) || ts.isJsxFragment(node) || ts.isDecorator(node)
    || ts.forEachChild(node, (child) => isBuilt(ts, child)) === true;
}

/** Files for each command line of TypeScript, which are checked together. */
const left = new Map();

function check(language, file, name) {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch {
    return answer('unsure', file, 1, 0, 'a byte that is not UTF-8', 'it is not UTF-8');
  }
  const isJavaScript = language === 'JavaScript';
  const rejected = isJavaScript ? nodeFault(name, text) : undefined;
  if (isJavaScript && !rejected) return answer('ok', file);
  const reject = () => {
    const why = doubt(rejected, text);
    return why ? answer('unsure', file, ...rejected, why) : answer('broken', file, ...rejected);
  };
  const mayBeJsx = isJavaScript && /^Unexpected token '?<'?$/.test(rejected[2]);
  const { ts, tsc } = compilerFor(name) ?? {};
  if (isJavaScript && !mayBeJsx && !ts) return reject();
  if (ts) {
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, ts.ScriptKind[KINDS[extname(file)]]);
    const [fault] = source.parseDiagnostics;
    if (isJavaScript && (fault ? !mayBeJsx : !isBuilt(ts, source))) return reject();
    return fault ? answer('broken', file, ...typescriptFault(text, fault)) : answer('ok', file);
  }
  if (tsc) {
    left.set(tsc, [...(left.get(tsc) ?? []), file]);
    return undefined;
  }
  const unread = isJavaScript ? 'JSX' : language;
  return answer('unknown', file, `no parser is available for ${unread}: the project has no TypeScript`);
}

/** Parse only, without settings, libraries and imports. */
const OPTIONS = [
  ...['--noEmit', '--noCheck', '--noLib', '--noResolve', '--ignoreConfig'],
  ...['--allowJs', '--jsx', 'preserve', '--pretty', 'false'],
];

function checkByCommandLine(tsc, files) {
  const args = [tsc, ...OPTIONS, ...files];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 64 << 20 });
  const faults = new Map();
  for (const [, file, ...fault] of stdout.matchAll(/^(\S+)\((\d+),(\d+)\): error TS\d+: (.*)$/gm)) {
    if (!faults.has(file)) faults.set(file, fault);
  }
  // Without libraries, version 7 misses the global types once it has parsed all files.
  const misses = /^error TS2318: /m.test(stdout);
  const fails = /^error (?!TS2318: )/m.test(stdout);
  // It has examined all files only if it exits by itself.
  if (status === 0 || (status > 0 && (faults.size > 0 || misses) && !fails)) {
    for (const file of files) {
      if (faults.has(file)) answer('broken', file, ...faults.get(file));
      else answer('ok', file);
    }
  } else if (files.length > 1) {
    // One of them may have brought it down.
    const half = files.length >> 1;
    checkByCommandLine(tsc, files.slice(0, half));
    checkByCommandLine(tsc, files.slice(half));
  } else {
    answer('unknown', files[0], "the project's TypeScript failed");
  }
}

for (const line of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const [language, file, name] = line.split('\t');
  try {
    check(language, file, name);
  } catch (error) {
    answer('unsure', file, 1, 0, error.name, 'its parser failed');
  }
}
for (const [tsc, files] of left) checkByCommandLine(tsc, files);
