/**
 * Errors, and how they leave the component.
 *
 * The engine takes a thrown object that is no `Error` for the contract's error, and lets the call crash for everything
 * else. So code throws `Failure`, as is usual in JavaScript, and `exported` turns it into what the engine expects.
 */

import type { Error as ContractError, ErrorCode } from 'drivebay:backend/types@0.1.0';

/** A request that is not carried out. `code` decides what clients do next (`wit/deps/README.md`). */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: ErrorCode;
  /** A registered word that says more than the code. */
  readonly reason: string | undefined;

  constructor(code: ErrorCode, message: string, reason?: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** A function as the component exports it. */
export function exported<In extends unknown[], Out>(work: (...request: In) => Out): (...request: In) => Out {
  return (...request) => {
    try {
      return work(...request);
    } catch (thrown) {
      throw toThrow(thrown);
    }
  };
}

function toThrow(thrown: unknown): ContractError | Error {
  if (thrown instanceof Failure) {
    const { code, reason, message } = thrown;
    return { code, reason, message };
  }
  // The call crashes. The log has the message and the stack of an `Error`, and nothing of other values.
  return thrown instanceof Error ? thrown : new Error(`thrown, and no Error: ${String(thrown)}`);
}
