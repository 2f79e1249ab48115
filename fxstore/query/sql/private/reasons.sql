-- A reason without the names in it, so that those of one kind are counted together.
CREATE MACRO _kind_of_reason(p_reason) AS
    coalesce(regexp_replace(regexp_replace(p_reason, ': [^:`]*`.*$', ''), '`[^`]*`', '…', 'g'), 'no data');
