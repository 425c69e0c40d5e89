/** The reason why user data cannot be made, worded for the class' status, with a remedy. */
export class UserDataProblem extends Error {
  override readonly name = 'UserDataProblem';
}
