// Keeps the code under test from the world while inputs are tried: no programs, no network, no writes, no end of the
// process. What tries is told, and left out.
'use strict';

class Forbidden extends Error {}

function forbid(what) {
  return () => {
    throw new Forbidden(`the code wants to ${what}`);
  };
}

function guard() {
  const undo = [];
  const replace = (owner, name, value) => {
    const found = Object.getOwnPropertyDescriptor(owner, name);
    if (!found || (!found.configurable && !found.writable)) return;
    const before = owner[name];
    owner[name] = value;
    undo.push(() => {
      owner[name] = before;
    });
  };
  const programs = require('node:child_process');
  for (const name of ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork']) replace(programs, name, forbid('start a program'));
  const net = require('node:net');
  for (const name of ['connect', 'createConnection', 'createServer']) replace(net, name, forbid('use the network'));
  for (const module of [require('node:http'), require('node:https')]) {
    for (const name of ['request', 'get', 'createServer']) replace(module, name, forbid('use the network'));
  }
  if (typeof globalThis.fetch === 'function') replace(globalThis, 'fetch', forbid('use the network'));
  const fs = require('node:fs');
  const writes = ['writeFile', 'appendFile', 'unlink', 'rename', 'mkdir', 'rmdir', 'rm', 'copyFile', 'truncate', 'symlink', 'link', 'chmod', 'cp', 'mkdtemp'];
  for (const name of writes) {
    replace(fs, name, forbid('write files'));
    replace(fs, `${name}Sync`, forbid('write files'));
    replace(fs.promises, name, forbid('write files'));
  }
  replace(fs, 'createWriteStream', forbid('write files'));
  for (const name of ['exit', 'abort', 'kill', 'reallyExit']) replace(process, name, forbid('end the process'));
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'table', 'dir']) replace(console, name, () => {});
  replace(process.stdout, 'write', () => true);
  replace(process.stderr, 'write', () => true);
  return () => {
    while (undo.length > 0) undo.pop()();
  };
}

module.exports = { guard, Forbidden };
