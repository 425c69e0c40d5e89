import type { NodeClaim, NodeClass, Pool } from '@dovetail/core-api';
import type { AdmissionHead, CatalogEvent, ClassCatalog, PodPromise, StateEvent, StateKind, StateValue, UnavailableOffering } from '@dovetail/contracts';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type {
  CsiNode, DaemonSet, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass,
} from '@dovetail/core-kube-model';

/** A class's catalog: of one revision, usable once all of its parts are here. */
type Catalog = { readonly revision: string; readonly types: readonly InstanceType[] };

/** A solver's copy of the state feed and the catalog. Mutable, and owned by one engine. */
export class Mirror {
  readonly pods = new Map<string, Pod>();
  readonly nodes = new Map<string, Node>();
  readonly claims = new Map<string, NodeClaim>();
  readonly pools = new Map<string, Pool>();
  readonly classes = new Map<string, NodeClass>();
  readonly daemonSets = new Map<string, DaemonSet>();
  readonly namespaces = new Map<string, Namespace>();
  readonly persistentVolumes = new Map<string, PersistentVolume>();
  readonly persistentVolumeClaims = new Map<string, PersistentVolumeClaim>();
  readonly storageClasses = new Map<string, StorageClass>();
  readonly csiNodes = new Map<string, CsiNode>();
  readonly promises = new Map<string, PodPromise>();
  admission: AdmissionHead = { epoch: 0, number: 0 };
  readonly unavailable = new Map<string, UnavailableOffering>();
  private readonly catalogs = new Map<string, Catalog>();
  private readonly parts = new Map<string, Map<number, ClassCatalog>>();
  private state: Position = { incarnation: '', sequence: 0, caughtUp: false };
  private catalogCaughtUp = false;
  /** Messages that could not be read, by field, for the debug state. */
  readonly malformed = new Map<string, number>();

  /** What the mirror has seen of the state feed. */
  get position(): Position {
    return this.state;
  }

  /** Both streams have been read to the end once since they were last lost. */
  get ready(): boolean {
    return this.state.caughtUp && this.catalogCaughtUp;
  }

  /** Whether everything up to this position is here. */
  reached(position: { readonly incarnation: string; readonly sequence: number }): boolean {
    return this.ready && this.state.incarnation === position.incarnation && this.state.sequence >= position.sequence;
  }

  catalogOf(classUid: string): Catalog | undefined {
    return this.catalogs.get(classUid);
  }

  /** Names the catalog as a whole: a plan refers to it. */
  catalogRevision(): string {
    return [...this.catalogs].map(([uid, catalog]) => `${uid}=${catalog.revision}`).toSorted().join(',');
  }

  applyState(event: StateEvent): void {
    switch (event.kind) {
      case 'reset': return this.forgetState();
      case 'caught-up':
        this.state = { incarnation: event.position.incarnation, sequence: Math.max(this.state.sequence, event.position.lastSequence), caughtUp: true };
        return;
      case 'malformed': return this.count(`${event.subject.split('.')[4] ?? 'state'}.${event.field}`);
      case 'record': {
        this.state = { ...this.state, sequence: event.sequence };
        if (event.record.kind === 'set') this.set(event.record.uid, event.record.state);
        else this.drop(event.record.stateKind, event.record.uid);
      }
    }
  }

  applyCatalog(event: CatalogEvent): void {
    switch (event.kind) {
      case 'reset':
        this.catalogs.clear();
        this.parts.clear();
        this.unavailable.clear();
        this.catalogCaughtUp = false;
        return;
      case 'caught-up':
        this.catalogCaughtUp = true;
        return;
      case 'malformed': return this.count(`catalog.${event.field}`);
      case 'unavailable':
        this.unavailable.set(offeringKey(event.offering), event.offering);
        return;
      case 'class': return this.addPart(event.part);
    }
  }

  private addPart(part: ClassCatalog): void {
    const key = `${part.classUid} ${part.revision}`;
    const parts = this.parts.get(key) ?? new Map<number, ClassCatalog>();
    parts.set(part.part, part);
    this.parts.set(key, parts);
    if (parts.size < part.parts) return;
    const types = [...parts].toSorted(([a], [b]) => a - b).flatMap(([, each]) => each.instanceTypes);
    this.catalogs.set(part.classUid, { revision: part.revision, types });
    for (const other of [...this.parts.keys()]) if (other.startsWith(`${part.classUid} `)) this.parts.delete(other);
  }

  private forgetState(): void {
    for (const kind of Object.keys(this.stores) as (keyof typeof this.stores)[]) this.stores[kind].clear();
    this.admission = { epoch: 0, number: 0 };
    this.state = { incarnation: '', sequence: 0, caughtUp: false };
  }

  private readonly stores = {
    pod: this.pods, node: this.nodes, claim: this.claims, pool: this.pools, nodeclass: this.classes, daemonset: this.daemonSets,
    namespace: this.namespaces, pv: this.persistentVolumes, pvc: this.persistentVolumeClaims, storageclass: this.storageClasses,
    csinode: this.csiNodes, promise: this.promises,
  };

  private set(uid: string, state: StateValue): void {
    if (state.kind === 'admission') this.admission = state.value;
    // Budgets and verdicts are others' business.
    else if (state.kind !== 'pdb' && state.kind !== 'verdict') (this.stores[state.kind] as Map<string, unknown>).set(uid, state.value);
  }

  private drop(kind: StateKind, uid: string): void {
    if (kind === 'admission') this.admission = { epoch: 0, number: 0 };
    else if (kind !== 'pdb' && kind !== 'verdict') this.stores[kind].delete(uid);
  }

  private count(field: string): void {
    this.malformed.set(field, (this.malformed.get(field) ?? 0) + 1);
  }
}

export type Position = { readonly incarnation: string; readonly sequence: number; readonly caughtUp: boolean };

export const offeringKey = (offering: { readonly instanceType: string; readonly zone: string; readonly capacityType: string }): string =>
  `${offering.capacityType}/${offering.instanceType}/${offering.zone}`;
