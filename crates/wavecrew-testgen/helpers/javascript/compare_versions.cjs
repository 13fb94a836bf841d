// The two versions of a module as processes: starts them, sends them calls, and starts them again when one ends.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { createServer } = require('node:net');
const { join } = require('node:path');
const { createInterface } = require('node:readline');

// Wall time on a busy machine: until a framework has loaded a module, and for one message.
const START_MS = 60000;
const ANSWER_MS = 40000;
const MAX_RESTARTS = 8;
const SIDES = ['old', 'new'];
const HANGS = 'it does not return from its import in time';

class Ended extends Error {}

class Version {
  // `plan` is what the process gets to know; `command` starts it in `folder`.
  constructor(side, { command, folder, plan, scratch, zone, startMs }) {
    Object.assign(this, { side, command, folder, plan, scratch, zone, startMs: startMs || START_MS });
    this.restarts = 0;
    this.number = 0;
    this.cpu = 0;
    this.spent = 0;
  }

  async start() {
    this.number += 1;
    const name = `${this.side}-${this.number}${this.plan.confirm ? 'c' : ''}`;
    const planFile = join(this.scratch, `${name}.json`);
    fs.writeFileSync(planFile, JSON.stringify(this.plan));
    const address = join(this.scratch, `${name}.sock`);
    this.waiting = new Map();
    this.ended = null;
    this.printed = '';
    const connected = new Promise((resolve, reject) => {
      this.fail = reject;
      this.server = createServer((socket) => {
        this.socket = socket;
        socket.on('error', () => {});
        createInterface({ input: socket }).on('line', (line) => {
          const message = JSON.parse(line);
          if (message.ready !== undefined) {
            if (message.ready) resolve();
            else reject(new Error(message.why));
          } else this.settle(message);
        });
        socket.on('close', () => this.end());
      });
      this.server.listen(address);
    });
    const [program, ...args] = this.command;
    this.process = spawn(program, args, {
      cwd: this.folder,
      env: { ...process.env, TZ: this.zone, WAVECREW_COMPARE_PLAN: planFile, WAVECREW_COMPARE_SOCKET: address },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (text) => { this.printed = (this.printed + text).slice(-4000); });
    this.process.on('error', (error) => this.end(error.message));
    this.process.on('exit', () => this.end());
    const timer = setTimeout(() => this.end(HANGS), this.startMs);
    try {
      await connected;
    } finally {
      clearTimeout(timer);
    }
  }

  settle({ id, result, error }) {
    const { resolve, reject } = this.waiting.get(id) || {};
    this.waiting.delete(id);
    if (error !== undefined && reject) reject(new Error(error));
    else if (resolve) resolve(result);
  }

  // The process is gone, or is sent away.
  end(why) {
    if (this.ended !== null) return;
    this.ended = why || errorLine(this.printed) || 'the process ended';
    this.fail(new Ended(this.ended));
    for (const { reject } of this.waiting.values()) reject(new Ended(this.ended));
    this.server.close();
    if (this.socket) this.socket.destroy();
    try {
      process.kill(-this.process.pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }

  ask(message) {
    const id = (this.lastId = (this.lastId || 0) + 1);
    return new Promise((resolve, reject) => {
      if (this.ended !== null) {
        reject(new Ended(this.ended));
        return;
      }
      const timer = setTimeout(() => this.end('hangs'), ANSWER_MS);
      const done = (settle) => (value) => {
        clearTimeout(timer);
        settle(value);
      };
      this.waiting.set(id, { resolve: done(resolve), reject: done(reject) });
      this.socket.write(`${JSON.stringify({ ...message, id })}\n`);
    });
  }

  // Runs calls. A call that ends the process is found, and the process starts again.
  async run(calls) {
    if (calls.length === 0) return [];
    try {
      const { answers, cpu } = await this.ask({ op: 'run', calls });
      this.cpu = cpu;
      return answers;
    } catch (error) {
      if (!(error instanceof Ended)) return calls.map(() => null);
      const how = error.message === 'hangs' ? 'hangs' : 'crash';
      if (this.restarts >= MAX_RESTARTS) return calls.map(() => null);
      this.restarts += 1;
      this.spent += this.cpu;
      this.cpu = 0;
      await this.start();
      if (calls.length === 1) return [{ outcome: { steps: [], effects: [], getters: [], result: { kind: how } }, fresh: [], aimed: [], path: 0, lines: {} }];
      const middle = calls.length >> 1;
      return [...(await this.run(calls.slice(0, middle))), ...(await this.run(calls.slice(middle)))];
    }
  }
}

// The line of what a framework printed that says most about an error.
function errorLine(printed) {
  const lines = printed.split('\n').map((line) => line.trim()).filter(Boolean);
  const line = lines.find((one) => /Error:|Cannot find|SyntaxError|No test files|heap out of memory/.test(one)) || lines[lines.length - 1];
  return line ? line.slice(0, 300) : '';
}

// Starts both versions. `options` gives the settings of a side.
async function startBoth(options) {
  const both = SIDES.map((side) => new Version(side, options(side)));
  const results = await Promise.allSettled(both.map((version) => version.start()));
  const failed = results.map((result, at) => (result.status === 'rejected' ? { side: SIDES[at], why: result.reason.message } : null)).filter(Boolean);
  if (failed.length > 0) {
    for (const version of both) version.end('not needed');
    throw Object.assign(new Error('cannot be loaded'), { failed });
  }
  return { old: both[0], new: both[1], all: both };
}

// Runs calls on both versions. Returns the pairs of answers.
async function runBoth(versions, calls) {
  const [before, after] = await Promise.all(versions.all.map((version) => version.run(calls)));
  return calls.map((call, at) => ({ call, before: before[at], after: after[at] }));
}

module.exports = { Ended, HANGS, SIDES, runBoth, startBoth };
