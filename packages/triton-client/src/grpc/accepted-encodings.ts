import type { ChannelInterface, Metadata } from '@grpc/grpc-js';

/** The part of grpc-js 1.14.7 that decides whether a message is compressed. It is not public: read with care. */
interface Inside {
  readonly internalChannel?: { readonly filterStackFactory?: { readonly factories?: readonly Partial<Factory>[] } };
}

interface Factory {
  createFilter(): { receiveMetadata(metadata: Metadata): Metadata };
}

const HEADER = 'grpc-accept-encoding';

/**
 * Lets a channel go on compressing after its first answer. Triton's server lists what it accepts as
 * `identity, deflate, gzip`; grpc-js splits that at the commas, keeps the blanks, finds no `gzip`, and compresses
 * nothing any more.
 */
export function readAcceptedEncodings(channel: ChannelInterface): void {
  for (const factory of (channel as Inside).internalChannel?.filterStackFactory?.factories ?? []) {
    const create = factory.createFilter?.bind(factory);
    if (create === undefined) continue;
    factory.createFilter = () => {
      const filter = create();
      const receive = filter.receiveMetadata.bind(filter);
      filter.receiveMetadata = (metadata) => {
        const [accepted] = metadata.get(HEADER);
        if (typeof accepted === 'string') metadata.set(HEADER, accepted.replaceAll(' ', ''));
        return receive(metadata);
      };
      return filter;
    };
  }
}
