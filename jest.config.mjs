// The tests of all projects, of the house and of the stories in one Jest, since one a project starts
// as many processes as there are projects.
import shared from './jest.shared.mjs';

export default {
  ...shared,
  roots: ['apps', 'libs', 'tests/house', 'tests/stories'].map((folder) => `<rootDir>/${folder}`),
};
