#!/usr/bin/env node
// Starts the program of this platform, which npm installed as an optional package.
"use strict";

const { spawn } = require("node:child_process");

const name = `@selvedge/cli-${process.platform}-${process.arch}`;

function findProgram() {
  try {
    return require.resolve(`${name}/selvedge`);
  } catch {
    process.stderr.write(
      `selvedge: the package ${name} is not installed.\n` +
        "If npm was told to omit optional packages, install it without that; if there is no such package, there is\n" +
        "no program for this platform: see the README for other ways to install it.\n",
    );
    process.exit(9);
  }
}

const program = findProgram();
const args = process.argv.slice(2);
// Newer releases of Node.js can become the program, which then gets signals itself.
if (typeof process.execve === "function") {
  process.execve(program, [program, ...args], process.env);
}

const child = spawn(program, args, { stdio: "inherit" });
// A terminal sends Ctrl-C to both; passing it on would count as pressing it twice.
const hasTerminal = [0, 1, 2].some((fd) => require("node:tty").isatty(fd));
process.on("SIGINT", () => {
  if (!hasTerminal) child.kill("SIGINT");
});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  process.stderr.write(`selvedge: cannot start ${program}: ${error.message}\n`);
  process.exit(9);
});
child.on("exit", (code, signal) => {
  if (signal) {
    // End in the same way, without the handlers above.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
