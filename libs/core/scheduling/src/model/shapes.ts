import {
  firstUntolerated,
  intersectRequirements,
  type Requirements,
  type Taint,
  type Toleration,
} from '@dovetail/core-kube-model';

/**
 * The demands of a pod on the node itself: labels and taints. Pods share few shapes, so results are
 * remembered per shape.
 */
export type Shape = {
  readonly id: number;
  readonly requirements: Requirements;
  readonly tolerations: readonly Toleration[];
  /**
   * If false, taints with effect PreferNoSchedule keep the pod away. Relaxation sets it to true.
   */
  readonly toleratesPreferred: boolean;
};

/** Shapes by identity. Invariant: equal text gives the same shape. */
export class ShapeTable {
  readonly shapes: Shape[] = [];
  readonly #ids = new Map<string, number>();

  /** Returns the shape that `text` identifies, and calls `make` on first use. */
  intern(text: string, make: () => Omit<Shape, 'id'>): Shape {
    const known = this.#ids.get(text);
    if (known !== undefined) return this.at(known);
    const shape: Shape = { id: this.shapes.length, ...make() };
    this.#ids.set(text, shape.id);
    this.shapes.push(shape);
    return shape;
  }

  /**
   * Returns the shape with additional requirements, such as the zone that a pod was assigned to.
   */
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

/** Returns the first taint that keeps a shape away, if any. */
export const taintAgainst = (shape: Shape, taints: readonly Taint[]): Taint | undefined =>
  firstUntolerated(taints, shape.tolerations, { includePreferred: !shape.toleratesPreferred });
