// Keeps the code under test from the world: no programs, no threads, no network, no standard input, no end of the process
// from the time it is loaded; while inputs are tried, no writes and no output, either. What tries is told, and left out.
'use strict';

const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const os = require('node:os');
const { resolve, sep } = require('node:path');
const { fileURLToPath } = require('node:url');

const { constants } = fs;

class Forbidden extends Error {}

// Also where it is made with `new`.
function forbid(what) {
  return function forbidden() {
    throw new Forbidden(`the code wants to ${what}`);
  };
}

// Replaces properties until they are put back.
class Replaced {
  constructor() {
    this.undo = [];
  }

  property(owner, name, value) {
    const found = Object.getOwnPropertyDescriptor(owner, name);
    if (!found || !found.configurable) return;
    Object.defineProperty(owner, name, { value, configurable: true, writable: true, enumerable: found.enumerable });
    this.undo.push(() => Object.defineProperty(owner, name, found));
  }

  properties(owner, names, value) {
    for (const name of names) this.property(owner, name, value);
  }

  // What was imported by name follows.
  done() {
    syncBuiltinESMExports();
    return () => {
      while (this.undo.length > 0) this.undo.pop()();
      syncBuiltinESMExports();
    };
  }
}

// From the time that the code is loaded.
function guard() {
  const replaced = new Replaced();
  const program = forbid('start a program');
  replaced.properties(require('node:child_process'), ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'], program);
  replaced.property(require('node:cluster'), 'fork', program);
  replaced.property(require('node:worker_threads'), 'Worker', forbid('start a thread'));
  const network = forbid('use the network');
  replaced.properties(require('node:net'), ['connect', 'createConnection', 'createServer'], network);
  replaced.property(require('node:tls'), 'connect', network);
  replaced.property(require('node:dgram'), 'createSocket', network);
  for (const module of [require('node:http'), require('node:https')]) replaced.properties(module, ['request', 'get', 'createServer'], network);
  replaced.properties(globalThis, ['fetch', 'WebSocket'], network);
  replaced.properties(process, ['exit', 'abort', 'kill', 'reallyExit'], forbid('end the process'));
  // What lies below all of these.
  replaced.properties(process, ['binding', '_linkedBinding', 'dlopen'], forbid('reach into the engine'));
  input(replaced);
  return replaced.done();
}

function input(replaced) {
  const refuse = forbid('read the standard input');
  for (const name of ['readFile', 'readFileSync', 'read', 'readSync', 'createReadStream']) {
    const before = fs[name];
    replaced.property(fs, name, function reading(...args) {
      return args[0] === 0 || args[0] === '/dev/stdin' ? refuse() : before.apply(this, args);
    });
  }
  replaced.property(process, 'stdin', new Proxy({}, { get: refuse }));
}

// Whether a way to open a file lets it be changed.
function isWriting(flags) {
  if (typeof flags === 'number') return (flags & (constants.O_WRONLY | constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND)) !== 0;
  return typeof flags === 'string' && /[wa+]/.test(flags);
}

// Whether a path is in a folder for what is thrown away.
function isTemporary(file) {
  const path = file instanceof URL ? fileURLToPath(file) : String(file);
  const top = realpath(os.tmpdir());
  const whole = resolve(path);
  return [top, os.tmpdir()].some((folder) => whole.startsWith(folder + sep)) && !whole.startsWith(process.cwd() + sep);
}

function realpath(folder) {
  try {
    return fs.realpathSync(folder);
  } catch {
    return folder;
  }
}

// Opening a file is refused where that would change one of somebody else.
function opening(replaced) {
  const refuse = forbid('write files');
  for (const [owner, name] of [[fs, 'open'], [fs, 'openSync'], [fs.promises, 'open'], [fs, 'createWriteStream'], [fs, 'WriteStream']]) {
    const before = owner[name];
    const always = /Write/.test(name);
    replaced.property(owner, name, function opened(file, flags, ...rest) {
      if (typeof file !== 'number' && (always || isWriting(flags)) && !isTemporary(file)) refuse();
      return new.target ? new before(file, flags, ...rest) : before.call(this, file, flags, ...rest);
    });
  }
}

// While inputs are tried. The framework writes files of its own as it loads modules: this is for afterwards.
function hush() {
  const replaced = new Replaced();
  const writing = forbid('write files');
  const writes = ['writeFile', 'appendFile', 'unlink', 'rename', 'mkdir', 'rmdir', 'rm', 'copyFile', 'truncate', 'symlink', 'link', 'chmod', 'cp', 'mkdtemp'];
  for (const name of writes) {
    replaced.properties(fs, [name, `${name}Sync`], writing);
    replaced.property(fs.promises, name, writing);
  }
  opening(replaced);
  replaced.property(process, 'chdir', forbid('change the working folder'));
  replaced.properties(console, ['log', 'info', 'warn', 'error', 'debug', 'trace', 'table', 'dir'], () => {});
  for (const stream of [process.stdout, process.stderr]) {
    const before = stream.write;
    stream.write = () => true;
    replaced.undo.push(() => {
      stream.write = before;
    });
  }
  return replaced.done();
}

module.exports = { guard, hush, Forbidden };
