import type { Decision } from '@dovetail/contracts';
import { factsWords } from '@dovetail/core-fleet/words';
import { useEffect, useState } from 'preact/hooks';

import { poolText, priceText, timeText } from './words.js';

type Read =
  | { readonly kind: 'reading' }
  | { readonly kind: 'read'; readonly decision: Decision }
  | { readonly kind: 'failed'; readonly why: string };

async function read(id: string): Promise<Read> {
  try {
    const answer = await fetch(`decision?id=${encodeURIComponent(id)}`);
    const body = (await answer.json()) as Decision & { readonly error?: string };
    return answer.ok
      ? { kind: 'read', decision: body }
      : { kind: 'failed', why: body.error ?? `the console answered ${String(answer.status)}` };
  } catch {
    return { kind: 'failed', why: 'the console does not answer: close this and open it again' };
  }
}

/** Everything about one decision: its reasons, alternatives, objects, prices and further facts. */
export function DecisionDetail({ id }: { readonly id: string }) {
  const [state, setState] = useState<Read>({ kind: 'reading' });
  useEffect(() => {
    let isWanted = true;
    void read(id).then((found) => {
      if (isWanted) setState(found);
    });
    return () => {
      isWanted = false;
    };
  }, [id]);
  if (state.kind === 'reading') return <p class="none">Reading the decision…</p>;
  if (state.kind === 'failed') return <p class="none">It cannot be shown: {state.why}.</p>;
  const { decision } = state;
  return (
    <div class="detail" data-testid="detail">
      <p>
        By {decision.source} at {timeText(decision.atMs)}, <code>{decision.id}</code>
      </p>
      <Prices decision={decision} />
      <Reasons reasons={decision.reasons} />
      <Alternatives alternatives={decision.alternatives} />
      <Objects objects={decision.objects} />
      <Facts facts={decision.facts} />
    </div>
  );
}

function Prices({ decision }: { readonly decision: Decision }) {
  const { priceMicrosPerHour: price, lowerBoundMicrosPerHour: least, priceEstimated } = decision;
  if (price === undefined) return null;
  return (
    <p>
      Price <strong>{priceText(price, priceEstimated)}</strong>
      {least === undefined ? '' : `; no plan for these pods costs less than ${priceText(least)}`}
    </p>
  );
}

function Reasons({ reasons }: Pick<Decision, 'reasons'>) {
  if (reasons.length === 0) return null;
  return (
    <>
      <h3>Reasons</h3>
      <ul>
        {reasons.map((reason, index) => (
          <li key={index}>
            {reason.subject === undefined ? '' : `${poolText(reason.subject)}: `}
            {reason.message} <code>{reason.code}</code>
            {reason.fell === undefined
              ? ''
              : ` (${String(reason.fell.count)} of ${String(reason.fell.of)} fell out)`}
            {reason.remedy !== undefined && <p class="remedy">Would help: {reason.remedy}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Alternatives({ alternatives }: Pick<Decision, 'alternatives'>) {
  if (alternatives.length === 0) return null;
  return (
    <>
      <h3>Other options, cheapest first</h3>
      <ul>
        {alternatives.map(({ what, priceMicrosPerHour, reason }, index) => (
          <li key={index}>
            {what} <strong>{priceText(priceMicrosPerHour)}</strong> {reason ?? ''}
          </li>
        ))}
      </ul>
    </>
  );
}

/** More objects than this are counted: a plan may have thousands of pods. */
const objectsMax = 50;

function Objects({ objects }: Pick<Decision, 'objects'>) {
  if (objects.length === 0) return null;
  const more = objects.length - objectsMax;
  return (
    <>
      <h3>About</h3>
      <ul>
        {objects.slice(0, objectsMax).map(({ kind, namespace, name }, index) => (
          <li key={index}>
            {kind} {namespace === undefined ? '' : `${namespace}/`}
            {name}
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
    </>
  );
}

function Facts({ facts }: Pick<Decision, 'facts'>) {
  const known = factsWords(facts);
  if (known.length === 0) return null;
  return (
    <>
      <h3>Further facts</h3>
      <dl class="facts">
        {known.map(({ name, values }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {values.map((value, index) => (
                <div key={index}>{value}</div>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}
