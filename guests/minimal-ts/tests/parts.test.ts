/** The parts that need no host. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { StringMap } from 'drivebay:backend/types@0.1.0';

import { check } from '../src/answers.js';
import { exported, Failure } from '../src/failure.js';
import { decode, encode } from '../src/utf8.js';

test('an answer that the host would refuse is found', () => {
  const long = 'v'.repeat(4 << 10);
  const bad: [string, string, number, StringMap][] = [
    ['volume-id has 0 bytes', '', 1, []],
    ['volume-id has 129 bytes', 'i'.repeat(129), 1, []],
    ['volume-id has 130 bytes', 'µ'.repeat(65), 1, []],
    ['control character', 'a\nb', 1, []],
    ['capacity-bytes is 9007199254740992', 'v', 2 ** 53, []],
    ['capacity-bytes is 0.5', 'v', 0.5, []],
    ['capacity-bytes is -1', 'v', -1, []],
    ['has 4097 bytes', 'v', 1, [['k', long]]],
    ['the key "k" twice', 'v', 1, [['k', '1'], ['j', '1'], ['k', '2']]],
    ['value at ""', 'v', 1, [['', '1']]],
    ['value at "k"', 'v', 1, [['k', '\0']]],
  ];
  for (const [words, volumeId, capacityBytes, volumeContext] of bad) {
    const volume = { volumeId, capacityBytes, volumeContext, accessibleTopology: [] };
    assert.throws(
      () => check(volume),
      (thrown) => thrown instanceof Failure && thrown.code === 'internal' && thrown.message.includes(words),
      words,
    );
  }
  const volumeContext: StringMap = [['k', long.slice(1)]];
  check({ volumeId: 'i'.repeat(128), capacityBytes: 2 ** 53 - 1, volumeContext, accessibleTopology: [] });
});

test('a failure leaves as a record, and everything else as an error with words', () => {
  const thrown = (value: unknown): unknown => {
    try {
      exported(() => {
        throw value;
      })();
    } catch (caught) {
      return caught;
    }
    return undefined;
  };
  const told = thrown(new Failure('aborted', 'later', 'busy'));
  assert.deepEqual(told, { code: 'aborted', reason: 'busy', message: 'later' });
  const bug = new TypeError('a bug');
  assert.equal(thrown(bug), bug);
  assert.ok(String(thrown('a text')).includes('a text'));
});

test('text survives as bytes', () => {
  for (const text of ['', 'a b/c%25', 'µ ✓ 😀', '\n\0']) {
    assert.deepEqual([...encode(text)], [...new TextEncoder().encode(text)]);
    assert.equal(decode(encode(text)), text);
  }
  assert.throws(() => decode(Uint8Array.of(0xff)), URIError);
});
