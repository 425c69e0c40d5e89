import type { InstanceProfiles } from '@dovetail/core-ports';

import type { CloudTwin } from '../twin/cloud-twin.js';
import { type Run, unless } from './runner.js';

/** Instance profiles of IAM. */
export function profilesOf(twin: CloudTwin, run: Run): InstanceProfiles {
  return {
    async ensureInstanceProfile({ name, role, path, tags }) {
      await run('iam:CreateInstanceProfile', () => {
        unless('EntityAlreadyExists', () => twin.iam.createProfile({ name, path, tags }));
      });
      await run('iam:AddRoleToInstanceProfile', () => {
        const [member] = twin.iam.profile(name).roles;
        if (member?.name === role) return;
        if (member !== undefined) twin.iam.removeRole(name, member.name);
        twin.iam.addRole(name, role);
      });
      return name;
    },
    instanceProfileExists: (name) =>
      run('iam:GetInstanceProfile', () =>
        twin.iam.profiles().some((profile) => profile.name === name),
      ),
    instanceProfiles: (pathPrefix) =>
      run('iam:ListInstanceProfiles', () =>
        twin.iam.profiles(pathPrefix).map((profile) => profile.name),
      ),
    deleteInstanceProfile: (name) =>
      run('iam:DeleteInstanceProfile', () => {
        unless('NoSuchEntity', () => {
          for (const role of twin.iam.profile(name).roles) twin.iam.removeRole(name, role.name);
          twin.iam.deleteProfile(name);
        });
      }),
  };
}
