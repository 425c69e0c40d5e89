import { withAdmittedTemplate } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

/** The kinds of objects by which the API server changes pods. */
export type AdmissionKind = 'limitRange' | 'runtimeClass';

/**
 * Daemonsets as their pods will be. The API server adds defaults of LimitRanges and the overhead of
 * RuntimeClasses to pods and not to templates, so a template alone says too little.
 *
 * Each change answers with the daemonsets that must be read again.
 */
export class AdmittedTemplates {
  readonly #daemonSets = new Map<string, KubeObject>();
  readonly #limitRanges = new Map<string, KubeObject>();
  readonly #runtimeClasses = new Map<string, KubeObject>();

  /** Remembers a daemonset; answers with it as its pods will be. */
  daemonSet(object: KubeObject): KubeObject {
    this.#daemonSets.set(object.metadata.uid ?? '', object);
    return this.#admitted(object);
  }

  /** Forgets a daemonset that is gone. */
  daemonSetGone(uid: string): void {
    this.#daemonSets.delete(uid);
  }

  /** Takes an object by which pods are changed. */
  set(kind: AdmissionKind, object: KubeObject): readonly KubeObject[] {
    const held = this.#heldOf(kind);
    const before = held.get(object.metadata.uid ?? '');
    held.set(object.metadata.uid ?? '', object);
    return this.#affected(before ?? object);
  }

  /** Forgets an object by which pods were changed. */
  gone(kind: AdmissionKind, uid: string): readonly KubeObject[] {
    const held = this.#heldOf(kind);
    const before = held.get(uid);
    held.delete(uid);
    return before === undefined ? [] : this.#affected(before);
  }

  #heldOf(kind: AdmissionKind): Map<string, KubeObject> {
    return kind === 'limitRange' ? this.#limitRanges : this.#runtimeClasses;
  }

  /** A cluster has few daemonsets, so those of the namespace, or all, are simply read again. */
  #affected({ metadata: { namespace } }: KubeObject): readonly KubeObject[] {
    return [...this.#daemonSets.values()]
      .filter((one) => namespace === undefined || one.metadata.namespace === namespace)
      .map((one) => this.#admitted(one));
  }

  #admitted(daemonSet: KubeObject): KubeObject {
    return withAdmittedTemplate(daemonSet, {
      limitRanges: (namespace) =>
        [...this.#limitRanges.values()].filter((one) => one.metadata.namespace === namespace),
      runtimeClass: (name) =>
        [...this.#runtimeClasses.values()].find((one) => one.metadata.name === name),
    });
  }
}
