-- How the numbers that one node has of a metric become one: the only place that says it. Whatever ranks, compares or shows
-- one number per node asks here.
--   sum     of bytes: over the ports of a sample; of several samples the worst.
--   median  of times: over all executions, each of which is a sample.
--   worst   of everything else: the worst port of the worst sample.
CREATE MACRO _aggregation(kind, unit) AS CASE WHEN unit = 'bytes' THEN 'sum' WHEN kind = 'latency' THEN 'median' ELSE 'worst' END;

-- The sample that a number belongs to; times belong to all executions together.
CREATE MACRO _sample_of(aggregation, sample) AS CASE WHEN aggregation <> 'median' THEN sample END;

-- How broken a value is: NaN 0, infinite 1, finite 2. Infinity that is the metric's number for equal tensors (an SQNR
-- of +inf) is not broken.
CREATE MACRO _broken(value, identical) AS CASE
    WHEN isnan(value) THEN 0 WHEN isinf(value) AND value IS DISTINCT FROM identical THEN 1 ELSE 2 END;
CREATE MACRO _cost(value, better) AS CASE WHEN isnan(value) THEN 0 WHEN better = 'higher' THEN value ELSE -value END;
CREATE MACRO _status_of(value) AS CASE
    WHEN value IS NULL THEN 'not_measured' WHEN isfinite(value) THEN 'ok' ELSE 'non_finite' END;

-- The first executions that take more than twice the median are cold: caches are empty, weights are not packed yet.
CREATE MACRO _cold(times, middle) AS coalesce(list_position([t <= 2 * middle FOR t IN times], true) - 1, 0);
CREATE MACRO _percentile(times, middle, part) AS list_aggregate(times[_cold(times, middle) + 1:], 'quantile_cont', part);

-- An aggregate over the rows of one node, metric and (_sample_of) sample: its number, and what is known of it. The median
-- is over all executions; p10 and p90 leave the cold ones out. value is NULL where no row has a number.
CREATE MACRO _aggregate(aggregation, value, reason, broken, cost, port, sample) AS struct_pack(
    worst := arg_min({'value': value, 'reason': reason}, (broken, cost, port)) FILTER (WHERE aggregation = 'worst'),
    sum := sum(value) FILTER (WHERE aggregation = 'sum'),
    times := list({'sample': sample, 'port': port, 'value': value}) FILTER (WHERE aggregation = 'median' AND value IS NOT NULL),
    reason := min(reason), broken := min(broken), number := count(value), rows := count(*)
);
CREATE MACRO _times_of(one) AS [t.value FOR t IN list_sort(one.times)];
CREATE MACRO _value_of(one) AS coalesce(one.worst.value, one.sum, list_median(_times_of(one)));
CREATE MACRO _reason_of(one) AS CASE
    WHEN one.number = 0 THEN one.reason WHEN one.worst IS NOT NULL THEN one.worst.reason
    WHEN one.sum IS NOT NULL AND one.number < one.rows THEN printf('the sum of %d outputs of %d', one.number, one.rows) END;
