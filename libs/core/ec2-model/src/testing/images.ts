import type { Image } from '../cloud-values.js';

/** An available image for amd64, and changes to it. */
export const image = (id: string, changes: Partial<Image> = {}): Image => ({
  id,
  name: id,
  arch: 'amd64',
  createdMs: 0,
  deprecated: false,
  tags: {},
  ...changes,
});
