import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** A server's answer to a WebSocket handshake is made of it (RFC 6455, section 1.3). */
const acceptGuid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** An open WebSocket, seen from the server. */
export type WebSocket = {
  /** Sends one binary message. */
  send(bytes: Buffer): void;
  close(): void;
};

/** The handlers of a WebSocket. Messages that a client cuts into fragments are not put together. */
export type WebSocketEvents = {
  readonly message: (bytes: Buffer) => void;
  readonly closed: () => void;
};

/** The subprotocols that the client speaks, in its order. */
export const protocolsOf = ({ headers }: IncomingMessage): readonly string[] =>
  (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());

function frameOf(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(payload.length < 126 ? 2 : payload.length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (head.length === 2) head[1] = payload.length;
  else if (head.length === 4) {
    head[1] = 126;
    head.writeUInt16BE(payload.length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head, payload]);
}

type Frame = { readonly opcode: number; readonly payload: Buffer; readonly size: number };

/** The first frame of the bytes. Undefined while it is not whole. A client masks its frames. */
function firstFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] ?? 0) & 0x7f;
  const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + wide + 4;
  if (bytes.length < start) return undefined;
  const length =
    wide === 0 ? short : wide === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < start + length) return undefined;
  const mask = bytes.subarray(start - 4, start);
  const payload = Buffer.from(bytes.subarray(start, start + length)).map(
    (byte, index) => byte ^ (mask[index % 4] ?? 0),
  );
  return { opcode: (bytes[0] ?? 0) & 0x0f, payload: Buffer.from(payload), size: start + length };
}

const acceptOf = (headers: IncomingHttpHeaders): string =>
  createHash('sha1')
    .update(`${headers['sec-websocket-key'] ?? ''}${acceptGuid}`)
    .digest('base64');

/** Answers a handshake, and speaks the subprotocol on the socket until one side closes it. */
export function acceptWebSocket(
  { headers }: IncomingMessage,
  socket: Duplex,
  protocol: string,
  events: WebSocketEvents,
): WebSocket {
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(headers)}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );
  const send = (opcode: number, payload: Buffer): void => {
    if (socket.writable) socket.write(frameOf(opcode, payload));
  };
  const heard = ({ opcode, payload }: Frame): void => {
    if (opcode === opcodes.binary || opcode === opcodes.text) events.message(payload);
    if (opcode === opcodes.ping) send(opcodes.pong, payload);
    if (opcode === opcodes.close) {
      send(opcodes.close, payload);
      socket.end();
    }
  };
  let waiting: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    for (let frame = firstFrame(waiting); frame !== undefined; frame = firstFrame(waiting)) {
      waiting = waiting.subarray(frame.size);
      heard(frame);
    }
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', events.closed);
  return {
    send: (bytes) => send(opcodes.binary, bytes),
    close: () => {
      send(opcodes.close, Buffer.alloc(0));
      socket.end();
    },
  };
}
