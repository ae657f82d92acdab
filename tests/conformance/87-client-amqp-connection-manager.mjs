// Node's amqp-connection-manager, from npm at a fixed version: a client that reconnects by itself
// through a restart of the node and loses nothing. Needs a node of its own, so Ringtail only.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import assert from 'node:assert/strict';

const PACKAGES = { 'amqp-connection-manager': '5.0.0', amqplib: '2.1.0' };
const BINARY = process.env.CONFORMANCE_BINARY;
const SLOW = Number(process.env.CONFORMANCE_SLOW || 1);
const HOME = join(process.env.CONFORMANCE_BUILD || 'build', 'npm-manager');
let failed = 0;

if (!BINARY) {
  console.log('# nothing here is for this broker: it cannot be restarted');
  process.exit(0);
}

function installed(name) {
  try {
    const file = join(HOME, 'node_modules', name, 'package.json');
    return JSON.parse(readFileSync(file)).version === PACKAGES[name];
  } catch {
    return false;
  }
}

function library() {
  mkdirSync(HOME, { recursive: true });
  if (!Object.keys(PACKAGES).every(installed)) {
    const wanted = Object.entries(PACKAGES).map(([name, version]) => `${name}@${version}`);
    execFileSync('npm', ['install', '--prefix', HOME, '--no-save', '--ignore-scripts', '--no-audit',
      '--no-fund', '--silent', ...wanted], { stdio: 'pipe', timeout: 60000 });
  }
  return createRequire(join(HOME, 'index.js'))('amqp-connection-manager');
}

let manager;
try {
  manager = library();
} catch (error) {
  console.log(`not ok the packages are installed: ${String(error.message).split('\n')[0]}`);
  process.exit(1);
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

// A node that can be started again in its place.
class Node {
  constructor(port) {
    this.port = port;
    this.dir = mkdtempSync(join(tmpdir(), 'ringtail-manager-'));
    this.log = openSync(join(this.dir, 'output'), 'a');
  }

  start() {
    this.process = spawn(BINARY, ['--shards', '2', '--amqp-port', String(this.port), '--bind',
      '127.0.0.1', '--management-port', '0', '--data-dir', this.dir], {
      stdio: ['ignore', this.log, this.log] });
    this.ended = once(this.process, 'exit');
  }

  async stop(signal) {
    this.process.kill(signal);
    await this.ended;
  }

  output() {
    return readFileSync(join(this.dir, 'output'), 'utf8').slice(-1500);
  }
}

const node = new Node(await freePort());
const url = `amqp://guest:guest@127.0.0.1:${node.port}`;

async function test(title, body) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('out of time')), 25000 * SLOW);
  });
  try {
    await Promise.race([body(), late]);
    console.log(`ok ${title}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${title}: ${String(error.stack || error).replace(/\s+/g, ' ')}`);
    console.log(node.output().replace(/^/gm, '# '));
  } finally {
    clearTimeout(timer);
  }
}

// What the consumer has seen, and who waits for what.
const seen = new Map();
const waiting = [];

function saw(body) {
  seen.set(body, (seen.get(body) || 0) + 1);
  for (let i = waiting.length - 1; i >= 0; i -= 1) {
    if (waiting[i].bodies.every((b) => seen.has(b))) waiting.splice(i, 1)[0].resolve();
  }
}

const all = (bodies) => new Promise((resolve) => {
  if (bodies.every((b) => seen.has(b))) resolve();
  else waiting.push({ bodies, resolve });
});

node.start();
const connection = manager.connect([url], {
  heartbeatIntervalInSeconds: 5, reconnectTimeInSeconds: 0.1 });
connection.on('error', () => {});
const counts = { connect: 0, disconnect: 0, setup: 0 };
connection.on('connect', () => { counts.connect += 1; });
connection.on('disconnect', () => { counts.disconnect += 1; });
const channel = connection.createChannel({
  json: true,
  confirm: true,
  setup: async (ch) => {
    counts.setup += 1;
    await ch.assertExchange('conf.manager', 'topic', { durable: true });
    await ch.assertQueue('conf.manager', { durable: true });
    await ch.bindQueue('conf.manager', 'conf.manager', 'job.#');
    await ch.prefetch(10);
  } });
channel.on('error', () => {});

let next = 0;

function publish(count) {
  const bodies = Array.from({ length: count }, () => `m${next++}`);
  const done = bodies.map((body) => channel.publish('conf.manager', 'job.x', { body },
    { persistent: true }));
  return { bodies, done: Promise.all(done) };
}

await test('it connects, sets up, publishes with confirms and consumes', async () => {
  await channel.waitForConnect();
  await channel.consume('conf.manager', (message) => {
    saw(JSON.parse(message.content).body);
    channel.ack(message);
  });
  const { bodies, done } = publish(50);
  await done;
  await all(bodies);
  assert.equal(counts.setup, 1);
});

for (const signal of ['SIGTERM', 'SIGKILL']) {
  await test(`it comes back after ${signal} and what was published meanwhile arrives`, async () => {
    const before = { ...counts };
    const gone = new Promise((resolve) => { connection.once('disconnect', resolve); });
    await node.stop(signal);
    await gone;
    const { bodies, done } = publish(50); // kept by the client
    assert.equal(channel.queueLength() > 0, true);
    node.start();
    await done;
    await all(bodies);
    const after = publish(50);
    await after.done;
    await all(after.bodies);
    assert.equal(counts.connect, before.connect + 1);
    assert.equal(counts.setup, before.setup + 1);
  });
}

await test('what was durable is declared as it was', async () => {
  await channel.checkQueue('conf.manager');
  await channel.checkExchange('conf.manager');
  await channel.deleteQueue('conf.manager');
});

await test('it closes', async () => {
  await connection.close();
  assert.equal(connection.isConnected(), false);
});

await node.stop('SIGTERM');
rmSync(node.dir, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
