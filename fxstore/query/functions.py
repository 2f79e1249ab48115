"""The functions that a query may call: each one of the pinned DuckDB was looked at, and is in one of these lists.

What is in neither is refused, so that what a later DuckDB adds stays out until someone has looked; a test says which.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

_VALUES: Final = {
    "texts and bytes": r"""
        ascii bar base64 bin binom bit_length bitstring char_length character_length chr concat concat_ws
        damerau_levenshtein decode editdist3 encode ends_with format formatReadableDecimalSize
        formatReadableSize format_bytes from_base64 from_binary from_hex hamming hex hive_partition_component
        icu_sort_key ilike_escape instr jaccard jaro_similarity jaro_winkler_similarity lcase left left_grapheme
        len length length_grapheme levenshtein like_escape lower lpad ltrim md5 md5_number md5_number_lower
        md5_number_upper mismatches nfc_normalize not_ilike_escape not_like_escape octet_length ord overlay
        parse_dirname parse_dirpath parse_filename parse_formatted_bytes parse_path path_join pg_size_pretty
        position prefix printf repeat replace reverse right right_grapheme rpad rtrim sha1 sha256 split
        split_part starts_with str_split string_split strip_accents strlen strpos substr substring
        substring_grapheme suffix to_base to_base64 to_binary to_hex translate trim ucase unbin unhex unicode
        upper url_decode url_encode
    """,
    "regular expressions": r"""
        regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
        regexp_split_to_array regexp_split_to_table str_split_regex string_split_regex
    """,
    "numbers": r"""
        abs acos acosh add asin asinh atan atan2 atanh bit_count bit_position cbrt ceil ceiling cos cosh cot
        decimal_division degrees divide equi_width_bins even exp factorial fdiv floor fmod gamma gcd geomean
        geometric_mean get_bit greatest_common_divisor is_histogram_other_bin isfinite isinf isnan lcm
        least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians random round
        round_even roundbankers set_bit sign signbit sin sinh sqrt subtract tan tanh trunc wavg weighted_avg xor
    """,
    "dates and times": r"""
        age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part
        date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear
        days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp hour
        isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
        make_timestamptz microsecond millennium millisecond minute month monthname nanosecond
        normalized_interval now quarter second strftime strptime time_bucket timezone timezone_hour
        timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds
        to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp
        try_strptime uuid_extract_timestamp week weekday weekofyear year yearweek
    """,
    # The catalog has unnest among what gives rows only; the parser takes it for a value, too.
    "lists": r"""
        aggregate apply array_aggr array_aggregate array_append array_apply array_cat array_concat
        array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance
        array_distinct array_dot_product array_extract array_filter array_grade_up array_has array_has_all
        array_has_any array_indexof array_inner_product array_intersect array_length array_negative_dot_product
        array_negative_inner_product array_pop_back array_pop_front array_position array_prepend array_push_back
        array_push_front array_reduce array_resize array_reverse array_reverse_sort array_select array_slice
        array_sort array_to_string array_to_string_comma_default array_transform array_unique array_value
        array_where array_zip contains element_at filter flatten generate_series generate_subscripts grade_up
        invoke list_aggr list_aggregate list_any_value list_append list_apply list_approx_count_distinct
        list_avg list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or list_cat list_concat
        list_contains list_cosine_distance list_cosine_similarity list_count list_distance list_distinct
        list_dot_product list_element list_entropy list_extract list_filter list_first list_grade_up list_has
        list_has_all list_has_any list_histogram list_indexof list_inner_product list_intersect list_kurtosis
        list_kurtosis_pop list_last list_mad list_max list_median list_min list_mode list_negative_dot_product
        list_negative_inner_product list_pack list_position list_prepend list_product list_reduce list_resize
        list_reverse list_reverse_sort list_select list_sem list_skewness list_slice list_sort list_stddev_pop
        list_stddev_samp list_string_agg list_sum list_transform list_unique list_value list_var_pop
        list_var_samp list_where list_zip range reduce string_to_array unnest
    """,
    "maps, structs, unions, enums and variants": r"""
        cardinality enum_code enum_first enum_last enum_range enum_range_boundary map map_concat map_contains
        map_contains_entry map_contains_value map_entries map_extract map_extract_value map_from_entries
        map_keys map_values row struct_concat struct_contains struct_extract struct_extract_at struct_has
        struct_indexof struct_insert struct_keys struct_pack struct_position struct_update struct_values
        union_extract union_tag union_value variant_array_length variant_contains variant_exists variant_extract
        variant_extract_string variant_keys variant_type variant_typeof
    """,
    "JSON": r"""
        array_to_json from_json from_json_strict json json_array json_array_length json_contains json_deep_merge
        json_exists json_extract json_extract_path json_extract_path_text json_extract_string json_group_array
        json_group_object json_group_structure json_insert json_keys json_merge_patch json_merge_patch_diff
        json_normalize json_object json_pretty json_quote json_remove json_replace json_set json_strip_nulls
        json_structure json_transform json_transform_strict json_type json_valid json_value row_to_json to_json
    """,
    "values of any type": r"""
        alias assert_true can_cast_implicitly constant_or_null create_sort_key current_catalog current_database
        current_role current_schema current_user error gen_random_uuid greatest hash if least nullif pg_typeof
        session_user switch typeof user uuid uuid_extract_version uuidv4 uuidv7 version
    """,
    "aggregates": r"""
        any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
        arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or
        bit_xor bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop covar_samp
        decimal_average entropy favg first fsum group_concat histogram histogram_exact kahan_sum kurtosis
        kurtosis_pop last list listagg lttb mad max max_by mean median min min_by mode product quantile
        quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
        regr_sxy regr_syy reservoir_quantile sem skewness stddev stddev_pop stddev_samp string_agg sum
        sum_no_overflow sumkahan var_pop var_samp variance
    """,
    "windows": r"""
        cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank rank_dense
        row_number
    """,
    "operators": r"""
        != !__postfix !~~ !~~* % & && * ** + - ->> / // < <-> << <= <=> <@ = > >= >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~
    """,
}
_TABLES: Final = {
    "rows": """
        generate_series json_each json_tree range repeat repeat_row unnest
    """,
    "what fxstore schema shows": "duckdb_columns duckdb_functions duckdb_views",
}
_REFUSED_VALUES: Final = {
    "it reads a setting, a variable or the session": """
        current_setting getvariable in_search_path current_schemas current_query current_query_id
        current_connection_id current_transaction_id txid_current inet_client_addr inet_client_port
        inet_server_addr inet_server_port pg_conf_load_time pg_postmaster_start_time get_block_size
    """,
    "it waits, writes or changes the session": """
        sleep_ms pg_sleep write_log setseed nextval currval setval
    """,
    "it plans or runs SQL that stands in a text": """
        json_serialize_plan json_serialize_sql json_deserialize_sql json_execute_serialized_sql
    """,
    "it looks at DuckDB's catalog, where the store's own tables are, too": """
        col_description obj_description shobj_description format_pg_type format_type map_to_pg_oid
        map_type_id_to_pg_oid index_key parse_duckdb_log_message has_any_column_privilege has_column_privilege
        has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege has_language_privilege
        has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
        has_tablespace_privilege pg_collation_is_visible pg_conversion_is_visible pg_function_is_visible
        pg_get_constraintdef pg_get_expr pg_get_viewdef pg_has_role pg_is_other_temp_schema pg_my_temp_schema
        pg_opclass_is_visible pg_operator_is_visible pg_opfamily_is_visible pg_table_is_visible
        pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible
        pg_type_is_visible
    """,
    "it works on DuckDB's inner state, not on values": """
        combine combine_aggr finalize to_aggregate_state stats vector_type remap_struct
        bitstring_byte_comparable timetz_byte_comparable variant_bytes_to_variant variant_comparator
        variant_normalize variant_to_parquet_variant variant_group_object variant_group_array
        json_copy_strftime_if_date json_copy_strftime_if_timestamp make_type get_type replace_type cast_to_type
        unpivot_list __between __cast __internal_*
    """,
    "ORDER BY x COLLATE de does it": """
        collate_* icu_collate_*
    """,
    "x IS DISTINCT FROM y does it": "is*from",
    "a store holds no geometry": """
        vertex_extract st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_crs st_geomfromgeojson
        st_geomfromwkb st_intersects_extent st_setcrs
    """,
}
_REFUSED_TABLES: Final = {
    "it reads a file or an object of Python": """
        arrow_scan arrow_scan_dumb glob pandas_scan parquet_* python_arrow_scan python_map_function read_*
        seq_scan sniff_csv which_secret
    """,
    "it names a table in a text": """
        query query_table histogram histogram_values
    """,
    "it plans or runs SQL that stands in a text": """
        json_execute_serialized_sql
    """,
    "it tells of DuckDB itself: its settings, logs, files and tables": """
        icu_calendar_names pg_timezone_names pragma_* duckdb_approx_database_count duckdb_available_metrics
        duckdb_connection_count duckdb_constraints duckdb_coordinate_systems duckdb_databases
        duckdb_dependencies duckdb_dialects duckdb_eviction_queues duckdb_extension_repositories
        duckdb_extensions duckdb_external_file_cache duckdb_external_resource_types duckdb_external_resources
        duckdb_grammar_extensions duckdb_indexes duckdb_keywords duckdb_live_query_metrics duckdb_log_contexts
        duckdb_logs duckdb_logs_parsed duckdb_memory duckdb_optimizers duckdb_prepared_statements
        duckdb_profiling_settings duckdb_schemas duckdb_secret_type_parameters duckdb_secret_types
        duckdb_secrets duckdb_sequences duckdb_settings duckdb_table_sample duckdb_tables duckdb_temporary_files
        duckdb_triggers duckdb_types duckdb_variables
    """,
    "it changes DuckDB itself": """
        add_grammar_extension remove_grammar_extension checkpoint force_checkpoint create_external_resource
        deregister_external_resource destroy_external_resource register_external_resource
        register_external_resource_type disable_logging disable_profiling enable_logging enable_profiling
        truncate_duckdb_logs
    """,
    "it is for tests of DuckDB": """
        summary test_all_types test_vector_types
    """,
}
VALUES: Final = frozenset(name.lower() for names in _VALUES.values() for name in names.split())
"""What may stand in an expression: functions, aggregates, window functions, macros and operators."""
TABLES: Final = frozenset(name for names in _TABLES.values() for name in names.split())
"""What may stand where a relation can."""


def why_refused(name: str, rows: bool = False) -> str | None:
    """Returns why a function of DuckDB is not for queries; None where nobody has said so.

    Args:
        name: In lower case.
        rows: Whether it gives rows, as in ``FROM f()``.
    """
    for why, patterns in (_REFUSED_TABLES if rows else _REFUSED_VALUES).items():
        if any(fnmatchcase(name, pattern) for pattern in patterns.split()):
            return why
    return None
