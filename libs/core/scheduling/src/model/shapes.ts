import {
  firstUntolerated,
  intersectRequirements,
  type Requirements,
  type Taint,
  type Toleration,
} from '@dovetail/core-kube-model';

/**
 * What a pod asks of the node itself: labels and taints. Pods share few shapes, so everything about
 * them is remembered.
 */
export type Shape = {
  readonly id: number;
  readonly requirements: Requirements;
  readonly tolerations: readonly Toleration[];
  /**
   * False: taints with effect PreferNoSchedule keep the pod away, until that preference is relaxed.
   */
  readonly toleratesPreferred: boolean;
};

/** Shapes by identity: the same text is the same shape. */
export class ShapeTable {
  readonly shapes: Shape[] = [];
  readonly #ids = new Map<string, number>();

  /** The shape that `text` identifies, made on first sight. */
  intern(text: string, make: () => Omit<Shape, 'id'>): Shape {
    const known = this.#ids.get(text);
    if (known !== undefined) return this.at(known);
    const shape: Shape = { id: this.shapes.length, ...make() };
    this.#ids.set(text, shape.id);
    this.shapes.push(shape);
    return shape;
  }

  /** The same shape with labels that are also demanded: a zone that a pod was assigned to, say. */
  narrowed(
    shape: Shape,
    more: { readonly text: string; readonly requirements: Requirements },
  ): Shape {
    if (more.text === '') return shape;
    return this.intern(`${shape.id}+${more.text}`, () => ({
      requirements: intersectRequirements(shape.requirements, more.requirements),
      tolerations: shape.tolerations,
      toleratesPreferred: shape.toleratesPreferred,
    }));
  }

  at(id: number): Shape {
    const shape = this.shapes[id];
    if (shape === undefined) throw new Error(`shape ${id} is unknown to this plan`);
    return shape;
  }
}

/** The first taint that keeps a shape away, if any. */
export const taintAgainst = (shape: Shape, taints: readonly Taint[]): Taint | undefined =>
  firstUntolerated(taints, shape.tolerations, { includePreferred: !shape.toleratesPreferred });
