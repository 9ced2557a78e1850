/**
 * The component: what it exports, on the host that runs it. It holds nothing else, because its imports exist there only.
 */

import * as state from 'drivebay:host/state@0.1.0';
import { log } from 'wasi:logging/logging@0.1.0-draft';
import { getRandomBytes } from 'wasi:random/random@0.2.0';

import { volumes as volumesOn } from './volumes.js';

export { identity } from './identity.js';
export const volumes = volumesOn({ state, log, randomBytes: getRandomBytes });
