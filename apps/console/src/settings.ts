import { commonSettings, hostNames, wholeNumber } from '@dovetail/runtime';

/** The console's settings. */
export const consoleSettings = {
  ...commonSettings,
  pagePort: {
    env: 'PAGE_PORT',
    flag: 'page-port',
    help: 'Port of the page, on the same address as HTTP_PORT; 0: any free one. It has no login: put it behind a proxy that has.',
    fallback: 8090,
    parse: wholeNumber({ least: 0, most: 65_535 }),
  },
  pageHosts: {
    env: 'PAGE_HOSTS',
    flag: 'page-hosts',
    help: 'Names under which the page is opened beside localhost and addresses, separated by commas, such as that of a proxy. Any other is refused, because a page elsewhere could lead a browser here by DNS.',
    fallback: '',
    parse: hostNames,
  },
  pagesMax: {
    env: 'PAGES_MAX',
    flag: 'pages-max',
    help: 'The most pages that are open at once. Another one is told to wait.',
    fallback: 50,
    parse: wholeNumber({ least: 1, most: 1_000 }),
  },
} as const;
