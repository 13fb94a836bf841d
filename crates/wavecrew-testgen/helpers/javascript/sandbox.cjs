// Blocks what the code under test must not do. From loading on: programs, threads, network, standard input, ending the process.
// While inputs are tried also: writing files, output. Targets that try are dropped, with the reason.
'use strict';

const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const os = require('node:os');
const { resolve, sep } = require('node:path');
const { fileURLToPath } = require('node:url');
const { format } = require('node:util');

const { constants } = fs;

class Forbidden extends Error {}

// Works with `new` as well.
function forbid(what) {
  return function forbidden() {
    throw new Forbidden(`the code tries to ${what}`);
  };
}

// Replaces properties, and restores them.
class Replacements {
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

  // Applies the changes to names that were imported already.
  done() {
    syncBuiltinESMExports();
    return () => {
      while (this.undo.length > 0) this.undo.pop()();
      syncBuiltinESMExports();
    };
  }
}

// Call this before the code is loaded. Returns a function that lifts the block.
function blockProcessAccess() {
  const replaced = new Replacements();
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
  // The layer below all of these.
  replaced.properties(process, ['binding', '_linkedBinding', 'dlopen'], forbid('access engine internals'));
  blockInput(replaced);
  return replaced.done();
}

function blockInput(replaced) {
  const refuse = forbid('read standard input');
  for (const name of ['readFile', 'readFileSync', 'read', 'readSync', 'createReadStream']) {
    const before = fs[name];
    replaced.property(fs, name, function reading(...args) {
      return args[0] === 0 || args[0] === '/dev/stdin' ? refuse() : before.apply(this, args);
    });
  }
  replaced.property(process, 'stdin', new Proxy({}, { get: refuse }));
}

// Whether flags open a file for writing.
function isWriting(flags) {
  if (typeof flags === 'number') return (flags & (constants.O_WRONLY | constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_APPEND)) !== 0;
  return typeof flags === 'string' && /[wa+]/.test(flags);
}

// Whether a path is in the temporary folder.
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

// Blocks opening files for writing, except temporary ones and those in a folder.
function blockOpening(replaced, folder, onWrite) {
  const refuse = forbid('write files');
  for (const [owner, name] of [[fs, 'open'], [fs, 'openSync'], [fs.promises, 'open'], [fs, 'createWriteStream'], [fs, 'WriteStream']]) {
    const before = owner[name];
    const always = /Write/.test(name);
    replaced.property(owner, name, function opened(file, flags, ...rest) {
      const writes = typeof file !== 'number' && (always || isWriting(flags));
      const isAllowed = () => isTemporary(file) || (folder !== null && resolve(String(file)).startsWith(folder + sep));
      if (writes && !isAllowed()) refuse();
      if (writes) onWrite();
      return new.target ? new before(file, flags, ...rest) : before.call(this, file, flags, ...rest);
    });
  }
}

// Allows what changes only files in a folder, and notes that it happened.
function writingIn(folder, before, onWrite) {
  const refuse = forbid('write files');
  const isInside = (file) => {
    const whole = resolve(file instanceof URL ? fileURLToPath(file) : String(file));
    return whole.startsWith(folder + sep);
  };
  return function writing(...args) {
    const paths = args.slice(0, 2).filter((arg, at) => at === 0 || (typeof arg === 'string' && /^(rename|copyFile|symlink|link|cp)/.test(before.name)));
    if (!paths.every((path) => (typeof path === 'string' || path instanceof URL) && isInside(path))) refuse();
    onWrite();
    return before.apply(this, args);
  };
}

// Call this after loading, because the framework writes files while it loads modules. Returns a function that lifts the block.
// `print` gets what is printed, by stream; files in `folder` may be written, which calls `onWrite`.
function blockWritesAndOutput({ print = () => {}, folder = null, onWrite = () => {} } = {}) {
  const replaced = new Replacements();
  const refuse = forbid('write files');
  const writing = (before) => (folder === null ? refuse : writingIn(folder, before, onWrite));
  const writes = ['writeFile', 'appendFile', 'unlink', 'rename', 'mkdir', 'rmdir', 'rm', 'copyFile', 'truncate', 'symlink', 'link', 'chmod', 'cp', 'mkdtemp'];
  for (const name of writes) {
    for (const one of [name, `${name}Sync`]) if (fs[one]) replaced.property(fs, one, writing(fs[one]));
    if (fs.promises[name]) replaced.property(fs.promises, name, writing(fs.promises[name]));
  }
  blockOpening(replaced, folder, onWrite);
  replaced.property(process, 'chdir', forbid('change the working folder'));
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'table', 'dir']) {
    const stream = ['warn', 'error', 'trace'].includes(name) ? 'stderr' : 'stdout';
    replaced.property(console, name, (...args) => print(stream, () => `${format(...args)}\n`));
  }
  for (const [name, stream] of [['stdout', process.stdout], ['stderr', process.stderr]]) {
    const before = stream.write;
    stream.write = (text) => {
      print(name, () => String(text));
      return true;
    };
    replaced.undo.push(() => {
      stream.write = before;
    });
  }
  return replaced.done();
}

module.exports = { Forbidden, blockProcessAccess, blockWritesAndOutput };
