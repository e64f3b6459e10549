"""What `make test` runs a sample of; `make test-slow` runs the rest.

`SAMPLES` has the number of cases that are drawn of a test, or of the tests of a file or folder. They are drawn by the
hashes of their names: the sample changes where the list of cases does, and with nothing else. 0 leaves a dear test,
or one of two ways to the same thing, to `make test-slow`. Whatever judges mutants runs all.

`examples` is hypothesis' number of examples in full; `make test` has a quarter of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import settings

SHARE = 4
"""One of so many of hypothesis' examples."""
SAMPLES: dict[str, int] = {
    "channels/test_plots.py": 2,
    "cli/test_bad_input.py::test_a_killed_command_leaves_the_old_run_and_hinders_no_other": 0,
    "cli/test_bad_input.py::test_sigterm_while_encoding_leaves_nothing": 0,
    "cli/test_complete.py::test_names_are_offered": 3,
    "cli/test_emulate.py::test_a_dry_run_says_between_what_losses_change": 1,
    "cli/test_hostile_surroundings.py::test_a_limit_on_memory_is_no_refusal_where_it_is_enough": 0,
    "cli/test_hostile_surroundings.py::test_a_path_that_is_no_file_holds_nothing_up": 6,
    "cli/test_hostile_surroundings.py::test_a_terminal_of_no_size": 4,
    "cli/test_hostile_surroundings.py::test_a_value_that_is_no_number_is_named_or_left_out": 2,
    "cli/test_hostile_surroundings.py::test_little_memory_is_said": 1,
    "cli/test_imports.py::test_a_command_imports_what_it_uses": 2,
    "cli/test_ladder.py::test_an_older_ladder_is_replaced_by_force_alone": 0,
    "cli/test_train.py::test_a_signal_saves": 0,
    "cli/test_users_files.py::test_what_the_user_has_stays": 6,
    "coded/test_evidence.py::test_one_probability_for_ever_is_hardly_ever_taken_for_change": 1,
    "coded/test_planner.py::test_decisions_are_those_of_the_formulas": 4,
    "crash/test_crash.py::test_allocations_that_fail": 0,
    "engine/test_ahead.py::test_random_trials_are_those_of_the_order_of_time": 1,
    "engine/test_bound.py::test_no_schedule_exceeds_it": 1,
    "engine/test_bound.py::test_no_transport_exceeds_it": 8,
    "engine/test_channel_frames.py::test_a_packet_is_lost_with_any_of_its_frames": 3,
    "engine/test_coded_runs.py::test_random_trials_are_those_by_packet": 2,
    "engine/test_coded_runs.py::test_what_follows_without_a_question_is_what_it_is_packet_by_packet": 4,
    "engine/test_congestion.py::test_cubic_follows_rfc_9438": 2,
    "engine/test_congestion_coupled.py::test_coupled_subflows_take_no_more_than_one_flows_share": 2,
    "engine/test_connection.py::test_every_combination_delivers_everything": 40,
    "engine/test_doors.py::test_the_doors_let_through_what_they_are_for_and_no_more": 1,
    "engine/test_flows.py::test_random_periods_have_their_means": 1,
    "engine/test_hop_by_hop.py::test_a_crash_loses_what_was_held_unless_it_is_kept": 1,
    "engine/test_hop_by_hop.py::test_on_any_network": 8,
    "engine/test_least_delay.py::test_no_schedule_brings_everything_with_less": 2,
    "engine/test_ltp_over_nodes.py::test_what_holds_on_any_network": 1,
    "engine/test_ltp_runs.py::test_random_trials_are_those_by_packet": 2,
    "engine/test_measured_rates.py::test_rates_are_those_of_the_arithmetic_in_numpy": 1,
    "engine/test_nodes.py::test_nodes_that_go_ahead_of_each_other_do_what_the_order_of_time_gives": 1,
    "engine/test_nodes.py::test_what_holds_on_any_network": 2,
    "engine/test_passing.py::test_it_is_the_best_of_all_schedules": 8,
    "engine/test_recovery.py::test_delivery_rates_are_measured_at_any_round_trip": 1,
    "engine/test_restarts_over_nodes.py::test_what_a_node_has_acknowledged_its_sender_may_lose": 1,
    "engine/test_restarts_over_nodes.py::test_what_holds_on_any_network": 1,
    "engine/test_schedulers_laws.py::test_every_scheduler_stands_round_trips_of_forty_minutes": 4,
    "engine/test_schedulers_laws.py::test_of_one_path_nothing_is_to_be_chosen": 8,
    "engine/test_split.py::test_on_any_network": 8,
    "engine/test_split.py::test_two_hops_with_ample_storage_carry_98_percent_of_the_lesser_rate": 1,
    "engine/test_structures.py::test_the_first_event_is_the_earliest_of_the_lowest_head": 3,
    "engine/test_trajectories.py::test_a_law_keeps_step_with_linux_6_1_whose_receiver_is_another": 6,
    "engine/test_trajectories.py::test_a_law_keeps_step_with_the_kernel": 45,
    "engine/test_trajectories.py::test_a_start_without_losses_is_the_kernels_within_a_hundredth": 5,
    "engine/test_wide_numbers.py::test_a_hundred_gigabits": 4,
    "engine/test_wide_numbers.py::test_a_hundred_gigabits_under_every_scheduler": 4,
    "engine/test_wide_numbers.py::test_a_laboratory_in_slow_motion_is_deep_space_for_every_scheduler": 10,
    "engine/test_wide_numbers.py::test_a_laboratory_in_slow_motion_is_deep_space_for_every_sender": 10,
    "engine/test_wide_numbers.py::test_every_scheduler_weighs_wide_windows_over_hours": 4,
    "engine/test_wide_numbers.py::test_hundreds_of_thousands_of_segments_are_out_for_ten_hours": 4,
    "experiments/test_forecast_front.py::test_it_plays_what_a_fleet_plays_and_keeps_it": 0,
    "experiments/test_forecast_proof.py::test_side_by_side_each_plays_what_it_plays_alone": 0,
    "experiments/test_forecast_proof.py::test_the_tables_say_what_was_played": 0,
    "experiments/test_forecast_rivals.py::test_of_a_steered_scenario_only_the_controllers_trials_count": 0,
    "experiments/test_forecast_rivals.py::test_the_table_has_each_rate_and_how_much_more_the_controller_plays": 0,
    "experiments/test_ladder_rules.py::test_a_search_goes_on_where_it_was_and_a_study_of_something_else_is_refused": 0,
    "experiments/test_paper_times.py::test_a_cell_that_was_timed_is_a_reproductions": 0,
    "experiments/test_remy_rules.py::test_training_is_deterministic_and_improves": 0,
    "explain/test_explain.py::test_the_page_says_the_same_twice": 0,
    "forecast/test_commands.py::test_the_ladder_has_it_below_the_planner_that_knows_the_law": 0,
    "forecast/test_own.py": 14,
    "forecast/test_training.py": 2,
    "forecast/test_training.py::test_a_stopped_training_goes_on_to_the_same_bits": 0,
    "forecast/test_training.py::test_the_command_trains_and_goes_on_without_the_name": 0,
    "fuzz/test_fuzz.py::test_a_reader_refuses_what_it_cannot_read": 8,
    "kernel/endhosts/test_faults.py::test_nothing_but_such_a_run_is_replaced": 0,
    "kernel/endhosts/test_faults.py::test_what_may_not_be_executed_is_refused": 0,
    "kernel/endhosts/test_flight.py::test_mptcp_uses_all_links": 0,
    "kernel/endhosts/test_flight.py::test_the_same_seed_is_the_same_bytes": 0,
    "kernel/endhosts/test_network.py::test_each_node_has_its_names_terminals_and_files": 0,
    "kernel/endhosts/test_network.py::test_who_spoils_its_own_links_ends_nobody_elses_run": 0,
    "kernel/test_backend.py::test_a_full_segment_carries_the_mss": 0,
    "kernel/test_backend.py::test_a_full_temporary_folder_is_called_that": 0,
    "kernel/test_backend.py::test_a_lane_leaves_a_layer_that_has_become_too_late": 0,
    "kernel/test_backend.py::test_a_stream_uses_both_links": 0,
    "kernel/test_backend.py::test_real_payloads_cross": 0,
    "kernel/test_backend.py::test_the_earths_end_dying_in_mid_transfer_is_told": 0,
    "kernel/test_backend.py::test_the_same_seed_gives_the_same_bytes_and_another_one_others": 0,
    "kernel/test_bound.py::test_no_trial_exceeds_the_bound_of_its_draws": 0,
    "kernel/test_coded.py::test_a_law_of_ours_finds_the_rate_that_it_finds_in_the_simulator": 0,
    "kernel/test_confine.py::test_roots_processes_are_bounded_too": 0,
    "kernel/test_confine.py::test_what_a_lesser_host_has_holds_and_what_it_has_not_is_said": 2,
    "kernel/test_covered_guests.py::test_what_a_guest_runs_is_counted_line_by_line": 0,
    "kernel/test_filter.py::test_a_wrong_filter_is_noticed": 8,
    "kernel/test_host.py::test_a_machine_with_netem_carries_the_scenario_itself": 0,
    "kernel/test_measured.py::test_our_policy_steers_real_subflows": 0,
    "kernel/test_nodes.py::test_controls_over_a_store_do_what_they_do_in_the_simulator": 0,
    "kernel/test_nodes.py::test_paths_that_share_links_stores_that_are_full_and_restarts_are_the_simulators": 0,
    "kernel/test_packet_logs.py::test_looking_moves_times_by_less_than_a_millisecond": 0,
    "kernel/test_places.py::test_a_guest_whose_console_has_no_room_died_of_a_full_disk": 0,
    "kernel/test_places.py::test_an_interrupted_run_leaves_nothing": 0,
    "kernel/test_played.py::test_an_open_loop_has_the_simulators_bytes_in_every_slot[frames]": 0,
    "kernel/test_played.py::test_others_connections_take_from_the_link_what_they_take_in_the_simulator": 0,
    "kernel/test_restarts.py::test_coded_layers_are_coded_anew_as_in_the_simulator": 0,
    "kernel/test_steer.py::test_a_policy_steers_windows_and_layers": 0,
    "kernel/test_steer.py::test_layers_of_a_table_go_when_and_where_the_simulators_do": 0,
    "ladder/test_baselines.py::test_a_planner_on_a_table_is_called_clairvoyant_wherever_it_is_shown": 0,
    "ladder/test_page.py::test_a_ladder_may_lack_a_baseline": 2,
    "learn/algorithms/test_delayed_dqn.py::test_a_dueling_network_is_a_chain_of_layers_too": 0,
    "learn/algorithms/test_delayed_dqn.py::test_it_finds_the_best_choice_of_each_branch": 1,
    "learn/algorithms/test_dqn.py::test_it_finds_the_best_choice_of_each_branch": 1,
    "learn/algorithms/test_learners.py::test_a_learning_policy_changes_and_serves_its_scenario": 2,
    "learn/algorithms/test_learners.py::test_continuous_actions_find_their_best": 1,
    "learn/algorithms/test_learners.py::test_continuous_actions_find_their_best[drl-cc-800]": 0,
    "learn/algorithms/test_learners.py::test_n_steps_and_n_more_are_2n_steps": 1,
    "learn/algorithms/test_learners.py::test_n_steps_and_n_more_are_2n_steps[pbq]": 0,
    "learn/policies/test_delays.py": 1,
    "learn/policies/test_scope.py::test_shipped_policies_know_their_training": 3,
    "learn/policies/test_shallow.py::test_it_neither_starves_nor_floods": 3,
    "learn/test_gym_example.py::test_the_whole_script_trains_writes_runs_and_compares": 0,
    "learn/training/test_train.py": 6,
    "learn/training/test_train.py::test_killed_at_random_moments_it_always_goes_on_to_the_same_weights": 0,
    "learn/training/test_train.py::test_n_steps_and_n_more_are_2n_steps": 1,
    "mutants/test_figures.py::test_of_every_module_the_figures_are_of_what_it_is": 0,
    "papers/test_explore.py::test_a_server_that_takes_its_actions_again_does_what_one_does_that_is_asked[learns]": 0,
    "papers/test_figures.py::test_many_algorithms_have_a_panel_each_with_the_others_in_grey": 0,
    "papers/test_papers.py::test_every_cell_is_there": 2,
    "papers/test_papers.py::test_every_cell_is_there[qaware]": 0,
    "papers/test_papers.py::test_every_figure_runs_quickly_to_the_page[pbq]": 0,
    "papers/test_reproduce.py::test_after_a_kill_it_gives_the_same_bytes": 0,
    "papers/test_training_cell.py::test_one_that_was_stopped_goes_on_to_the_same": 1,
    "report/test_bands.py::test_a_part_has_its_rows_and_no_others": 1,
    "report/test_bands.py::test_on_a_phone_a_figure_is_one_part": 1,
    "report/test_browser.py": 1,
    "report/test_controllers.py::test_better_is_said_of_scenarios_it_was_not_trained_on": 1,
    "report/test_controllers.py::test_every_format_names_them": 2,
    "report/test_formats.py::test_the_same_runs_give_the_same_bytes": 2,
    "report/test_frontier.py::test_runs_that_differ_in_anything_else_are_none": 1,
    "report/test_inside.py::test_no_text_of_a_figure_is_cut": 1,
    "report/test_network_figure.py::test_it_has_a_panel_for_each_node_and_link": 1,
    "report/test_page.py::test_unusual_runs_give_a_page[little]": 0,
    "report/test_pictures.py::test_one_scrubber_moves_every_clip": 0,
    "report/test_pictures.py::test_without_scripts_each_clip_has_its_controls": 0,
    "report/test_pooled.py::test_every_format_has_them": 1,
    "report/test_sheet.py::test_few_seeds_are_cautioned_of": 1,
    "report/test_sheet.py::test_the_command_writes_both_and_replaces_them_with_force_only": 0,
    "report/test_study.py::test_a_part_of_other_values_is_named": 3,
    "run/test_footing.py::test_a_policy_of_tcp_knows_what_changes_what_it_is_shown": 2,
    "run/test_kept.py::test_a_killed_command_goes_on": 0,
    "run/test_plan_rates.py::test_every_transport_brings_what_the_contacts_carry_at_most": 2,
    "run/test_plan_rates.py::test_every_transport_brings_what_the_contacts_carry_at_most[coded]": 0,
    "run/test_random_networks.py::test_what_holds_on_any_network": 3,
    "run/test_sums.py::test_a_flipped_bit_is_named": 3,
    "run/test_untrusted.py::test_a_table_of_other_types": 2,
    "run/test_untrusted.py::test_whatever_stands_in_a_record_is_shown_or_refused": 1,
    "svc/test_end_to_end.py::test_played_quality_falls_with_losses": 1,
    "svc/test_end_to_end.py::test_verify_and_manifest": 1,
    "svc/test_openh264.py::test_every_prefix_is_bit_identical": 3,
    "svc/test_openh264.py::test_every_prefix_of_a_real_clip_is_bit_identical": 1,
    "svc/test_play.py::test_layers_of_several_sizes_play_at_one": 1,
    "svc/test_play.py::test_screens_side_by_side_are_each_as_alone": 1,
    "svc/test_source.py::test_a_truncated_file_is_refused": 2,
    "svc/test_vp9.py::test_a_long_chunk_of_several_sizes_is_exact": 0,
    "svc/test_vp9.py::test_a_real_clip_is_exact_and_gains_with_every_layer": 0,
    "svc/test_vp9.py::test_every_prefix_is_bit_identical": 3,
    "svc/test_vp9.py::test_every_prefix_of_several_sizes_is_bit_identical": 2,
    "svc/test_vp9.py::test_large_pictures_of_several_sizes_are_coded": 1,
    "svc/test_x264.py::test_every_prefix_is_bit_identical": 3,
    "svc/test_x264.py::test_picture_types_are_the_layers": 3,
    "sweeps/test_conduct.py::test_a_process_that_is_killed_while_it_makes_the_folder_leaves_a_sweep_to_go_on_with": 1,
    "sweeps/test_crashes.py::test_a_killed_command_goes_on_to_the_same_bytes": 0,
    "sweeps/test_query.py::test_a_value_of_any_type_is_printed": 4,
    "sweeps/test_query.py::test_nothing_else_is_possible": 6,
    "sweeps/test_slurm.py::test_an_array_carries_the_study": 0,
    "sweeps/test_trainings.py::test_a_training_is_a_row_is_not_done_twice_and_goes_on": 0,
    "sweeps/test_worker.py": 2,
    "test_composition.py::test_each_pair_is_what_the_page_says": 1,
    "test_composition.py::test_the_kernel_takes_and_refuses_what_the_page_says": 1,
    "test_gallery.py::test_a_copy_loads_as_the_original_does": 10,
    "test_mutants.py::test_a_held_change_that_nothing_notices_fails": 0,
    "test_mutants.py::test_good_tests_pass": 0,
    "test_mutants.py::test_tests_that_see_nothing_and_excuses_that_are_none_fail": 0,
    "test_mutants.py::test_wrong_versions_that_somebody_wrote_are_tried_beside_the_sample": 0,
    "test_one_entry.py::test_a_control_is_listed_checked_and_known_by_its_row": 0,
    "test_one_entry.py::test_a_loss_kind_is_a_key_of_scenarios_and_of_profiles_by_its_row": 0,
    "test_one_entry.py::test_a_metric_is_in_runs_bounds_and_reports_by_its_name_and_value": 0,
    "test_pytest_plugin.py::test_a_folder_is_run_once_when_it_is_asked_for_twice": 0,
    "test_pytest_plugin.py::test_it_works_with_several_processes": 0,
    "test_pytest_plugin.py::test_without_the_option_nothing_is_collected": 0,
    "test_quic_profile.py::test_a_first_window_that_allows_it_brings_a_page_in_two_round_trips": 0,
    "test_simulation.py::test_a_wrong_result_is_found": 8,
    "test_simulation.py::test_random_trials_hold_what_every_trial_must": 1,
    "test_training_times.py::test_a_process_trains_and_the_digest_is_of_what_it_learned": 0,
    "test_trust.py::test_the_pytest_plugin_asks_the_same": 0,
}


def examples(count: int) -> settings:
    """Hypothesis' settings with so many examples, in `make test` with fewer."""
    return settings(max_examples=max(1, count * settings().max_examples // 100))


def place_of(nodeid: str) -> str | None:
    """The longest entry of `SAMPLES` that a test is of."""
    place = nodeid.removeprefix("tests/")
    while place not in SAMPLES:
        cut = max(place.rfind(mark) for mark in ("[", "::", "/"))
        if cut < 0:
            return None
        place = place[:cut]
    return place


def mark_rest(items: Sequence[pytest.Item]) -> None:
    """Mark as `rest` what is not drawn; cases that are marked as slow or for the kernel are of no sample."""
    groups: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        place = place_of(item.nodeid)
        if place and not item.get_closest_marker("slow") and not item.get_closest_marker("kernel"):
            groups[place].append(item)
    for place, members in groups.items():
        members.sort(key=lambda item: sha256(item.nodeid.encode()).digest())
        for item in members[SAMPLES[place] :]:
            item.add_marker(pytest.mark.rest)
