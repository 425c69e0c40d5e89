/** Why user data cannot be made, in words for the class' status: what is wrong and what to do. */
export class UserDataProblem extends Error {
  override readonly name = 'UserDataProblem';
}
