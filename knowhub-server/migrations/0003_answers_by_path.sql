-- Answers about one record stand together: their scope begins with the path, and ends with method and principal.

UPDATE idempotent_answers SET scope =
    substr(scope, instr(scope, ' /') + 1) || ' '
    || substr(scope, instr(scope, ' ') + 1, instr(scope, ' /') - instr(scope, ' ') - 1) || ' '
    || substr(scope, 1, instr(scope, ' ') - 1)
WHERE scope LIKE '% % /%';
