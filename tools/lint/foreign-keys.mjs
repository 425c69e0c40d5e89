// A plain object answers to `constructor` and `toString` without holding them, and an assignment to
// its `__proto__` is lost. All three are legal keys of labels, annotations, tags or names.
import ts from 'typescript';

/** Whether the code spells out all values of the type and no object inherits them, or none is text. */
const isOwnWord = (type) =>
  type.isUnion()
    ? type.types.every(isOwnWord)
    : !(type.isStringLiteral() && type.value in Object.prototype) &&
      (type.flags &
        (ts.TypeFlags.StringLiteral | ts.TypeFlags.NumberLike | ts.TypeFlags.ESSymbolLike)) !==
        0;

/**
 * The ESLint rule that refuses `record[key]`, `key in record` and `const { [key]: value } = record`
 * if the record takes any text as a key and this key is not spelled out. `delete record[key]` is
 * allowed, because it reaches the record's own keys only. The rule needs types.
 */
export const foreignKeys = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      read: 'Every object answers to keys like `constructor`: read with lookUp of core-invariant.',
      write: 'An assignment loses the key `__proto__`: write with put of core-invariant.',
      ask: 'Every object answers to keys like `constructor`: ask Object.hasOwn.',
    },
  },
  create(context) {
    const services = context.sourceCode.parserServices;
    const checker = services.program.getTypeChecker();
    const takesAnyText = (type) =>
      type.isUnion()
        ? type.types.some(takesAnyText)
        : checker.getIndexInfoOfType(checker.getApparentType(type), ts.IndexKind.String) !==
          undefined;
    const isForeign = (record, key) =>
      takesAnyText(services.getTypeAtLocation(record)) &&
      !isOwnWord(services.getTypeAtLocation(key));
    return {
      'MemberExpression[computed=true]'(node) {
        const { parent } = node;
        if (parent.type === 'UnaryExpression' && parent.operator === 'delete') return;
        if (!isForeign(node.object, node.property)) return;
        const isWritten = parent.type === 'AssignmentExpression' && parent.left === node;
        context.report({ node, messageId: isWritten ? 'write' : 'read' });
      },
      "BinaryExpression[operator='in']"(node) {
        if (isForeign(node.right, node.left)) context.report({ node, messageId: 'ask' });
      },
      'ObjectPattern > Property[computed=true]'(node) {
        if (isForeign(node.parent, node.key)) context.report({ node, messageId: 'read' });
      },
    };
  },
};
