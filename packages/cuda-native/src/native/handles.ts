declare const kind: unique symbol;

/** A native object; its kind is checked again by the addon. */
export type Handle<K extends string> = { readonly [kind]: K };
export type RegionHandle = Handle<'region'>;
export type AbandonedNameHandle = Handle<'abandonedName'>;
export type DeviceHandle = Handle<'device'>;
export type MemoryHandle = Handle<'memory'>;
export type PinnedHandle = Handle<'pinned'>;
export type StreamHandle = Handle<'stream'>;
export type EventHandle = Handle<'event'>;
export type ModuleHandle = Handle<'module'>;
export type KernelHandle = Handle<'kernel'>;
export type GraphHandle = Handle<'graph'>;
export type JpegDecoderHandle = Handle<'jpegDecoder'>;
export type JpegEncoderHandle = Handle<'jpegEncoder'>;
