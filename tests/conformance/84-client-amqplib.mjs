// Node's amqplib, installed from npm at a fixed version: the whole round with promises.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';

const VERSION = '2.1.0';
const URL_ = process.env.CONFORMANCE_URL || 'amqp://guest:guest@127.0.0.1:5672';
const SLOW = Number(process.env.CONFORMANCE_SLOW || 1);
const HOME = join(process.env.CONFORMANCE_BUILD || 'build', 'npm');
let failed = 0;

function installed() {
  try {
    const file = join(HOME, 'node_modules', 'amqplib', 'package.json');
    return JSON.parse(readFileSync(file)).version === VERSION;
  } catch {
    return false;
  }
}

function library() {
  mkdirSync(HOME, { recursive: true });
  if (!installed()) {
    execFileSync('npm', ['install', '--prefix', HOME, '--no-save', '--ignore-scripts', '--no-audit',
      '--no-fund', '--silent', `amqplib@${VERSION}`], { stdio: 'pipe', timeout: 60000 });
  }
  return createRequire(join(HOME, 'index.js'))('amqplib');
}

const unique = (stem) => `conf.${stem}.${randomBytes(6).toString('hex')}`;

async function test(title, body) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('out of time')), 15000 * SLOW);
  });
  try {
    await Promise.race([body(), late]);
    console.log(`ok ${title}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${title}: ${String(error.message || error).replace(/\s+/g, ' ')}`);
  } finally {
    clearTimeout(timer);
  }
}

let amqp;
try {
  amqp = library();
} catch (error) {
  console.log(`not ok amqplib ${VERSION} is installed: ${String(error.message).split('\n')[0]}`);
  process.exit(1);
}

async function withChannel(kind, body) {
  const connection = await amqp.connect(URL_);
  connection.on('error', () => {});
  const channel = await connection[kind]();
  channel.on('error', () => {});
  try {
    await body(channel, connection);
  } finally {
    await connection.close().catch(() => {});
  }
}

await test('declare bind publish get and acknowledge', () =>
  withChannel('createChannel', async (ch) => {
    const [exchange, queue] = [unique('x'), unique('q')];
    await ch.assertExchange(exchange, 'topic', { autoDelete: true, durable: false });
    await ch.assertQueue(queue, { exclusive: true, messageTtl: 60000 });
    await ch.bindQueue(queue, exchange, 'a.*');
    const headers = { n: 1, big: 2 ** 40, f: 1.5, s: 'x', b: true, list: [1, 'a'], t: { k: null } };
    ch.publish(exchange, 'a.b', Buffer.from('body'), { headers, persistent: true, messageId: 'm' });
    await ch.checkQueue(queue);
    let message = await ch.get(queue);
    assert.equal(message.content.toString(), 'body');
    assert.deepEqual({ ...message.properties.headers }, headers);
    assert.equal(message.fields.redelivered, false);
    ch.nack(message, false, true);
    message = await ch.get(queue);
    assert.equal(message.fields.redelivered, true);
    ch.ack(message);
    assert.equal(await ch.get(queue), false);
    await ch.unbindQueue(queue, exchange, 'a.*');
    assert.equal((await ch.purgeQueue(queue)).messageCount, 0);
    assert.equal((await ch.deleteQueue(queue)).messageCount, 0);
    await ch.close();
  }));

await test('confirms and returns', () =>
  withChannel('createConfirmChannel', async (ch) => {
    const { queue } = await ch.assertQueue('', { exclusive: true });
    const returned = new Promise((resolve) => { ch.once('return', resolve); });
    for (let n = 0; n < 100; n += 1) ch.sendToQueue(queue, Buffer.alloc(n * 3000, n));
    ch.publish('', 'conf.nowhere', Buffer.from('lost'), { mandatory: true });
    await ch.waitForConfirms();
    const message = await returned;
    assert.equal(message.fields.replyCode, 312);
    assert.equal(message.content.toString(), 'lost');
    assert.equal((await ch.checkQueue(queue)).messageCount, 100);
    for (let n = 0; n < 100; n += 1) {
      const got = await ch.get(queue, { noAck: true });
      assert.ok(got.content.equals(Buffer.alloc(n * 3000, n)), `body ${n} changed`);
    }
  }));

await test('consume prefetch nack reject cancel', () =>
  withChannel('createChannel', async (ch) => {
    const { queue } = await ch.assertQueue('', { exclusive: true });
    await ch.prefetch(3);
    const got = [];
    let again = false;
    const all = new Promise((resolve) => {
      ch.consume(queue, (message) => {
        const n = Number(message.content);
        if (n === 5 && !again) {
          again = true;
          ch.reject(message, true);
          return;
        }
        got.push(n);
        ch.ack(message);
        if (got.length === 30) resolve();
      }, { consumerTag: 'mine' });
    });
    for (let n = 0; n < 30; n += 1) ch.sendToQueue(queue, Buffer.from(String(n)));
    await all;
    assert.deepEqual(got.sort((a, b) => a - b), Array.from({ length: 30 }, (_, n) => n));
    await ch.cancel('mine');
    await ch.recover();
    ch.ackAll();
    assert.equal((await ch.checkQueue(queue)).consumerCount, 0);
  }));

await test('exchange to exchange bindings', () =>
  withChannel('createChannel', async (ch) => {
    const [source, target] = [unique('x'), unique('x')];
    await ch.assertExchange(source, 'direct', { durable: false });
    await ch.assertExchange(target, 'fanout', { durable: false });
    const { queue } = await ch.assertQueue('', { exclusive: true });
    await ch.bindExchange(target, source, 'k');
    await ch.bindQueue(queue, target, '');
    ch.publish(source, 'k', Buffer.from('x'));
    await ch.checkExchange(source);
    assert.equal((await ch.get(queue, { noAck: true })).content.toString(), 'x');
    await ch.unbindExchange(target, source, 'k');
    await ch.deleteExchange(source);
    await ch.deleteExchange(target);
  }));

await test('a deleted queue cancels its consumer', () =>
  withChannel('createChannel', async (ch, connection) => {
    const { queue } = await ch.assertQueue('', { exclusive: true });
    const cancelled = new Promise((resolve) => {
      ch.consume(queue, (message) => { if (message === null) resolve(); });
    });
    await ch.checkQueue(queue);
    const other = await connection.createChannel();
    await other.deleteQueue(queue);
    await cancelled;
  }));

await test('errors have their codes', async () => {
  for (const [code, call] of [
    [404, (ch) => ch.checkQueue('conf.nowhere')],
    [403, (ch) => ch.assertQueue('amq.mine')],
    [406, (ch) => ch.assertExchange('amq.direct', 'fanout')]]) {
    await withChannel('createChannel', async (ch) => {
      await assert.rejects(call(ch), (error) => error.code === code);
    });
  }
});

await test('a wrong password is told', () =>
  assert.rejects(amqp.connect(URL_.replace(/:[^:@/]*@/, ':wrong@')), /403|ACCESS.REFUSED/));

process.exit(failed ? 1 : 0);
