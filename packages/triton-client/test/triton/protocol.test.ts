import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describeTier, peersPython } from '@zerohop/test-support';
import { expect, test } from 'vitest';

interface Field {
  number: number;
  type: string;
  repeated: boolean;
  of: string | null;
  oneof: string | null;
}

interface Protocol {
  messages: Record<string, Record<string, Field>>;
  enums: Record<string, Record<string, number>>;
  methods: Record<string, { input: string; output: string; clientStreaming: boolean; serverStreaming: boolean }>;
}

/** The part of protobuf's FileDescriptorSet, as JSON, that is compared. */
interface EnumDescriptor {
  name: string;
  value: { name: string; number?: number }[];
}
interface MessageDescriptor {
  name: string;
  field?: { name: string; number: number; label: string; type: string; typeName?: string; oneofIndex?: number }[];
  nestedType?: MessageDescriptor[];
  enumType?: EnumDescriptor[];
  oneofDecl?: { name: string }[];
}
interface FileDescriptor {
  package: string;
  messageType?: MessageDescriptor[];
  enumType?: EnumDescriptor[];
  service?: {
    name: string;
    method: {
      name: string;
      inputType: string;
      outputType: string;
      clientStreaming?: boolean;
      serverStreaming?: boolean;
    }[];
  }[];
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const absolute = (name: string): string => name.replace(/^\./, '');

/** Our .proto files, by buf. */
function ours(): Protocol {
  const buf = here('../../node_modules/.bin/buf');
  // The health service is not in PyPI's package; the conformance suite asks it of a real server.
  const files = ['--path', 'proto/grpc_service.proto', '--path', 'proto/model_config.proto'];
  const image = execFileSync(buf, ['build', ...files, '-o', '-#format=json'], { cwd: here('../..'), encoding: 'utf8' });
  const protocol: Protocol = { messages: {}, enums: {}, methods: {} };
  const addEnum = (scope: string, descriptor: EnumDescriptor): void => {
    const values = descriptor.value.map(({ name, number = 0 }) => [name, number] as const);
    protocol.enums[`${scope}.${descriptor.name}`] = Object.fromEntries(values);
  };
  const addMessage = (scope: string, descriptor: MessageDescriptor): void => {
    const name = `${scope}.${descriptor.name}`;
    const fields = (descriptor.field ?? []).map((field) => {
      const described: Field = {
        number: field.number,
        type: field.type,
        repeated: field.label === 'LABEL_REPEATED',
        of: field.typeName === undefined ? null : absolute(field.typeName),
        oneof: field.oneofIndex === undefined ? null : (descriptor.oneofDecl?.[field.oneofIndex]?.name ?? null),
      };
      return [field.name, described] as const;
    });
    protocol.messages[name] = Object.fromEntries(fields);
    for (const nested of descriptor.nestedType ?? []) addMessage(name, nested);
    for (const nested of descriptor.enumType ?? []) addEnum(name, nested);
  };
  for (const file of (JSON.parse(image) as { file: FileDescriptor[] }).file) {
    for (const message of file.messageType ?? []) addMessage(file.package, message);
    for (const descriptor of file.enumType ?? []) addEnum(file.package, descriptor);
    for (const service of file.service ?? []) {
      for (const { name, inputType, outputType, clientStreaming = false, serverStreaming = false } of service.method) {
        protocol.methods[`${file.package}.${service.name}/${name}`] = {
          input: absolute(inputType),
          output: absolute(outputType),
          clientStreaming,
          serverStreaming,
        };
      }
    }
  }
  return protocol;
}

function theirs(): Protocol {
  const json = execFileSync(peersPython(), [here('../support/descriptors.py')], { encoding: 'utf8' });
  return JSON.parse(json) as Protocol;
}

describeTier(
  'triton',
  'our .proto files and the descriptors of PyPI’s tritonclient',
  () => {
    const [own, peers] = [ours(), theirs()];

    test('name the same things', () => {
      expect(Object.keys(peers.messages).length).toBeGreaterThan(100);
      expect(Object.keys(own.messages).sort()).toEqual(Object.keys(peers.messages).sort());
      expect(Object.keys(own.enums).sort()).toEqual(Object.keys(peers.enums).sort());
      expect(Object.keys(own.methods).sort()).toEqual(Object.keys(peers.methods).sort());
    });

    test('agree on every field: number, type, label, oneof', () => {
      expect(own.messages).toEqual(peers.messages);
    });

    test('agree on every value of every enum', () => {
      expect(own.enums).toEqual(peers.enums);
    });

    test('agree on every RPC: request, answer, streaming', () => {
      expect(Object.keys(own.methods)).toHaveLength(20);
      expect(own.methods).toEqual(peers.methods);
    });
  },
  { needs: ['peers'] },
);
