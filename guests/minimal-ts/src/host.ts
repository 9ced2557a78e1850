/**
 * What the backend needs of its host. `backend.ts` hands in the functions of the contract, tests a host in memory.
 */

import type * as state from 'drivebay:host/state@0.1.0';
import type * as logging from 'wasi:logging/logging@0.1.0-draft';
import type * as random from 'wasi:random/random@0.2.0';

export interface Host {
  readonly state: Pick<typeof state, 'get' | 'commit'>;
  readonly log: typeof logging.log;
  readonly randomBytes: typeof random.getRandomBytes;
}
