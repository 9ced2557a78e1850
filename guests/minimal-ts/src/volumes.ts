/**
 * The smallest controller: volumes are records in the host's state and nowhere else.
 *
 * It decides what a request means; how it is remembered is in `records`.
 */

import type { CapacityRange, StringMap, Volume } from 'drivebay:backend/types@0.1.0';
import type {
  CreateVolumeRequest,
  ValidateVolumeCapabilitiesRequest,
  Verdict,
} from 'drivebay:backend/volumes@0.1.0';

import { exported, Failure } from './failure.js';
import type { Host } from './host.js';
import * as misbehave from './misbehave.js';
import { fingerprint, Records, type VolumeRecord } from './records.js';

/** As large as a volume is when the client does not say: 1 GiB. */
export const DEFAULT_BYTES = 1 << 30;
/** What the keys of a volume's context begin with that hold its parameters. */
const PARAMETER = 'parameter.';
/** In every volume's context. */
const LANGUAGE: [string, string] = ['language', 'ts'];

/** The functions of the contract's `volumes`, on a host. */
export function volumes(host: Host): typeof import('drivebay:backend/volumes@0.1.0') {
  const records = new Records(host);
  return {
    createVolume: exported((request) => {
      const volume = create(records, request);
      host.log('info', 'volumes', `${request.name} is ${volume.volumeId}`);
      return volume;
    }),
    deleteVolume: exported((request) => records.delete(request.volumeId)),
    validateVolumeCapabilities: exported((request) => validate(records, request)),
  };
}

function create(records: Records, request: CreateVolumeRequest): Volume {
  misbehave.whereAsked(request.parameters);
  if (request.volumeContentSource != null) {
    throw new Failure('invalid-argument', 'this backend copies nothing');
  }
  const asked = request.capacityRange ?? {};
  const told = {
    capacityBytes: choose(asked),
    volumeContext: [LANGUAGE, ...request.parameters.map(([key, value]): [string, string] => [PARAMETER + key, value])],
    accessibleTopology: [],
  };
  const record = records.findOrCreate(request.name, request.parameters, told);
  if (record.parameters !== fingerprint(request.parameters) || !contains(asked, record.capacityBytes)) {
    const message = 'a volume of this name has another size or other parameters';
    throw new Failure('already-exists', message, 'incompatible');
  }
  return { ...told, volumeId: record.volumeId, capacityBytes: record.capacityBytes };
}

/** Supports everything for every volume that exists, but for a context of another. */
function validate(records: Records, request: ValidateVolumeCapabilitiesRequest): Verdict {
  const record = records.find(request.volumeId);
  if (record === undefined) {
    throw new Failure('not-found', `there is no volume ${request.volumeId}`);
  }
  if (request.volumeContext.length > 0 && !isContext(request.volumeContext, record)) {
    return { tag: 'unsupported', val: 'the volume has another context' };
  }
  return { tag: 'supported' };
}

/** Whether this is what `createVolume` said of the volume. */
function isContext(context: StringMap, record: VolumeRecord): boolean {
  const parameters = context
    .filter(([key]) => key.startsWith(PARAMETER))
    .map(([key, value]): [string, string] => [key.slice(PARAMETER.length), value]);
  const others = context.filter(([key]) => !key.startsWith(PARAMETER));
  return fingerprint(others) === fingerprint([LANGUAGE]) && fingerprint(parameters) === record.parameters;
}

/**
 * The size of a new volume. Numbers are exact up to 2^53 - 1 here (8 PiB): a larger one may have been rounded on its
 * way, and is refused. A limit that was rounded is far above every size.
 */
function choose(asked: CapacityRange): number {
  const bytes = asked.requiredBytes ?? Math.min(DEFAULT_BYTES, asked.limitBytes ?? DEFAULT_BYTES);
  if (!Number.isSafeInteger(bytes)) {
    throw new Failure('out-of-range', `a volume has at most ${Number.MAX_SAFE_INTEGER} bytes`);
  }
  return bytes;
}

/** Whether an existing volume has the size that is asked for. */
function contains(asked: CapacityRange, bytes: number): boolean {
  return (asked.requiredBytes ?? 0) <= bytes && bytes <= (asked.limitBytes ?? Infinity);
}
