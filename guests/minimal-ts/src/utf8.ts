/**
 * Text as bytes. The engine has no `TextEncoder`; it has these two functions, which speak UTF-8.
 */

/** The bytes of a text. */
export function encode(text: string): Uint8Array {
  const parts = encodeURIComponent(text).match(/%..|./g) ?? [];
  return Uint8Array.from(parts, (part) => (part.length > 1 ? parseInt(part.slice(1), 16) : part.charCodeAt(0)));
}

/** The text of these bytes. Throws `URIError` when they are none. */
export function decode(bytes: Uint8Array): string {
  return decodeURIComponent(Array.from(bytes, (byte) => `%${hex(byte)}`).join(''));
}

/** Two digits. */
export function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
