import type { AdmissionNumber } from '@dovetail/contracts';

/** `epoch.number`, as annotations and plans write an admission. */
export const admissionText = (admission: AdmissionNumber): string =>
  `${admission.epoch}.${admission.number}`;

/** Undefined when the text is no admission. */
export function parseAdmission(text: string | undefined): AdmissionNumber | undefined {
  const match = /^([0-9]+)\.([0-9]+)$/.exec(text ?? '');
  const [epoch, number] = [Number(match?.[1]), Number(match?.[2])];
  return Number.isSafeInteger(epoch) && Number.isSafeInteger(number)
    ? { epoch, number }
    : undefined;
}

/** The annotation `dovetail.sh/admission` of a claim: its admission, its plan and its bin. */
export type AdmissionMark = {
  readonly admission: AdmissionNumber;
  readonly planId: string;
  readonly binId: string;
};

/** The mark as the text of the annotation, which `parseAdmissionMark` reads. */
export const admissionMark = (mark: AdmissionMark): string =>
  `${admissionText(mark.admission)}/${mark.planId}/${mark.binId}`;

/** Undefined when absent or not ours. */
export function parseAdmissionMark(text: string | undefined): AdmissionMark | undefined {
  const [number, planId, binId] = (text ?? '').split('/');
  const admission = parseAdmission(number);
  return admission === undefined || planId === undefined || binId === undefined
    ? undefined
    : { admission, planId, binId };
}
