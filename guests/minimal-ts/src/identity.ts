/**
 * Who the backend is. It depends on nothing, because the host keeps the answers.
 */

/** The functions of the contract's `identity`. */
export const identity: typeof import('drivebay:backend/identity@0.1.0') = {
  /** Answers once for every version of the component. */
  describe: () => ({
    name: 'minimal-ts.drivebay.dev',
    vendorVersion: '0.1.0',
    manifest: [['language', 'ts']],
    features: [],
    stateVersion: { writes: 1, readsFrom: 1 },
    wants: [],
  }),

  /** Always well: the state is all that this backend needs, and the host watches that. */
  probe: () => 'ready',
};
