//! Chooses which queued tasks are assigned first: those of the project with the fewest running tasks, in it those of
//! the submitter with the fewest, and of these the one with the lowest rank. Projects and submitters that have reached
//! a limit are left out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use selvedge_protocol::{ProjectSettings, ProjectUsage};

use super::projects::ReachedLimit;
use super::rows::PollRequest;

/// A submitter in a project, by its number in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Submitter {
    pub(crate) number: i64,
    pub(crate) project: String,
}

/// The first queued tasks of a submitter that a worker can run: rank and number, the lowest rank first.
#[derive(Debug)]
pub(crate) struct SubmitterQueue {
    pub(crate) submitter: i64,
    pub(crate) tasks: VecDeque<(i64, i64)>,
    /// Whether the submitter has no other tasks that the worker can run.
    pub(crate) is_complete: bool,
}

/// The submitters whose tasks the worker may be given now, by their numbers.
pub(crate) fn open_submitters(
    want: &PollRequest,
    submitters: &[Submitter],
    share: &FairShare,
) -> Vec<i64> {
    let is_served = |submitter: &&Submitter| {
        want.project
            .as_ref()
            .is_none_or(|own| *own == submitter.project)
    };
    submitters
        .iter()
        .filter(is_served)
        .map(|submitter| submitter.number)
        .filter(|submitter| share.may_run(*submitter))
        .collect()
}

/// A chosen task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChosenTask {
    pub(crate) submitter: i64,
    pub(crate) task: i64,
}

/// A submitter's next task. The submitter with the fewest running tasks is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    running: u64,
    /// The rank and the number of the task.
    first: (i64, i64),
    /// The index of the submitter's queue.
    queue: usize,
}

type ProjectTurns = BinaryHeap<Reverse<Turn>>;

#[derive(Debug, Default)]
struct ProjectShare {
    /// `None`: this hub may not assign now, because another hub does.
    settings: Option<ProjectSettings>,
    usage: ProjectUsage,
}

#[derive(Debug)]
struct SubmitterShare {
    project: usize,
    usage: ProjectUsage,
}

/// Usage of all projects and submitters, and the projects' limits.
#[derive(Debug, Default)]
pub(crate) struct FairShare {
    projects: Vec<ProjectShare>,
    project_index: HashMap<String, usize>,
    submitters: HashMap<i64, SubmitterShare>,
}

impl FairShare {
    /// Adds the settings of a project; `None` if it must be left out. Projects without settings have no limits.
    pub(crate) fn add_project(&mut self, name: &str, settings: Option<ProjectSettings>) {
        let index = self.project(name);
        self.projects[index].settings = settings;
    }

    fn project(&mut self, name: &str) -> usize {
        if let Some(index) = self.project_index.get(name) {
            return *index;
        }
        let index = self.projects.len();
        self.projects.push(ProjectShare {
            settings: Some(ProjectSettings::default()),
            usage: ProjectUsage::default(),
        });
        self.project_index.insert(name.to_owned(), index);
        index
    }

    /// Adds what a submitter uses to the submitter and the project.
    pub(crate) fn add_usage(&mut self, submitter: &Submitter, usage: ProjectUsage) {
        let project = self.project(&submitter.project);
        let share = self
            .submitters
            .entry(submitter.number)
            .or_insert_with(|| SubmitterShare {
                project,
                usage: ProjectUsage::default(),
            });
        for total in [&mut share.usage, &mut self.projects[project].usage] {
            *total += usage;
        }
    }

    /// The running tasks of the submitter's project and of the submitter; `None` if neither may run another one.
    fn load(&self, submitter: i64) -> Option<(u64, u64)> {
        let share = self.submitters.get(&submitter)?;
        let project = self.projects.get(share.project)?;
        let reached = ReachedLimit::of(project.settings.as_ref()?, project.usage, share.usage);
        reached
            .is_none()
            .then_some((project.usage.running, share.usage.running))
    }

    /// Whether a task of the submitter may be assigned.
    fn may_run(&self, submitter: i64) -> bool {
        self.load(submitter).is_some()
    }

    /// Chooses at most so many tasks and counts them as running. Ends early after the last known task of a submitter
    /// that may have others: which one is next is unknown then.
    pub(crate) fn choose(
        &mut self,
        mut queues: Vec<SubmitterQueue>,
        slots: usize,
    ) -> Vec<ChosenTask> {
        let mut chosen = Vec::new();
        let mut turns: HashMap<usize, ProjectTurns> = HashMap::new();
        for (index, queue) in queues.iter().enumerate() {
            if let Some((project, turn)) = self.turn_of(queue, index) {
                turns.entry(project).or_default().push(Reverse(turn));
            }
        }
        let projects = turns
            .iter()
            .filter_map(|(project, turns)| self.first_turn(*project, turns, &queues));
        let mut projects: BinaryHeap<_> = projects.collect();
        while chosen.len() < slots {
            let Some(Reverse((_, turn, project))) = projects.pop() else {
                break;
            };
            let (Some(queue), Some(turns)) = (queues.get_mut(turn.queue), turns.get_mut(&project))
            else {
                break;
            };
            turns.pop();
            queue.tasks.pop_front();
            self.count_running(queue.submitter, 1);
            chosen.push(ChosenTask {
                submitter: queue.submitter,
                task: turn.first.1,
            });
            if queue.tasks.is_empty() && !queue.is_complete {
                break;
            }
            if let Some((_, turn)) = self.turn_of(queue, turn.queue) {
                turns.push(Reverse(turn));
            }
            projects.extend(self.first_turn(project, turns, &queues));
        }
        chosen
    }

    /// The project and the turn of a submitter that may run its first task.
    fn turn_of(&self, queue: &SubmitterQueue, index: usize) -> Option<(usize, Turn)> {
        let share = self.submitters.get(&queue.submitter)?;
        self.load(queue.submitter)?;
        let turn = Turn {
            running: share.usage.running,
            first: *queue.tasks.front()?,
            queue: index,
        };
        Some((share.project, turn))
    }

    /// The first turn of a project's submitters, after the number of the project's running tasks. Only a limit of the
    /// project can have been reached since a turn was added.
    fn first_turn(
        &self,
        project: usize,
        turns: &ProjectTurns,
        queues: &[SubmitterQueue],
    ) -> Option<Reverse<(u64, Turn, usize)>> {
        let Reverse(turn) = *turns.peek()?;
        let (running, _) = self.load(queues.get(turn.queue)?.submitter)?;
        Some(Reverse((running, turn, project)))
    }

    /// No longer counts a chosen task as running, because it was not assigned.
    pub(crate) fn undo_choice(&mut self, choice: ChosenTask) {
        self.count_running(choice.submitter, -1);
    }

    fn count_running(&mut self, submitter: i64, change: i64) {
        if let Some(share) = self.submitters.get_mut(&submitter) {
            let project = &mut self.projects[share.project].usage.running;
            for running in [&mut share.usage.running, project] {
                *running = running.saturating_add_signed(change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(projects: &[(&str, ProjectSettings)], submitters: &[(i64, &str)]) -> FairShare {
        let mut share = FairShare::default();
        for (name, settings) in projects {
            share.add_project(name, Some(settings.clone()));
        }
        for (number, project) in submitters {
            let submitter = Submitter {
                number: *number,
                project: (*project).to_owned(),
            };
            share.add_usage(&submitter, ProjectUsage::default());
        }
        share
    }

    /// Tasks of a submitter with these ranks; their numbers begin at 100 times the submitter's.
    fn queue_of(submitter: i64, ranks: &[i64]) -> SubmitterQueue {
        let tasks = ranks.iter().zip(submitter * 100..);
        SubmitterQueue {
            submitter,
            tasks: tasks.map(|(rank, number)| (*rank, number)).collect(),
            is_complete: true,
        }
    }

    fn tasks(chosen: &[ChosenTask]) -> Vec<i64> {
        chosen.iter().map(|choice| choice.task).collect()
    }

    #[test]
    fn choice_is_fair_to_projects_then_submitters_then_in_order_of_rank() {
        let mut share = share(&[], &[(1, "a"), (2, "a"), (3, "b")]);
        let queues = vec![
            queue_of(1, &[1, 2, 3]),
            queue_of(2, &[9, 10]),
            queue_of(3, &[20, 21]),
        ];
        // One of each project; in `a`, the submitter without a running task follows.
        let chosen = share.choose(queues, 6);
        assert_eq!(tasks(&chosen), [100, 300, 200, 301, 101, 201]);
        share.undo_choice(chosen[1]);
        let queues = vec![queue_of(1, &[1]), queue_of(3, &[9])];
        assert_eq!(tasks(&share.choose(queues, 1)), [300]);
    }

    #[test]
    fn choice_ends_where_the_next_task_is_unknown() {
        let mut share = share(&[], &[(1, "a"), (2, "b")]);
        let unknown_rest = SubmitterQueue {
            is_complete: false,
            ..queue_of(2, &[9])
        };
        let chosen = share.choose(vec![queue_of(1, &[1, 2, 3]), unknown_rest], 4);
        assert_eq!(tasks(&chosen), [100, 200]);
    }

    #[test]
    fn choice_ends_at_limits() {
        let settings = ProjectSettings {
            max_running: Some(3),
            max_running_per_submitter: Some(2),
            ..ProjectSettings::default()
        };
        let mut share = share(&[("a", settings)], &[(1, "a"), (2, "a"), (3, "b")]);
        let queues = vec![
            queue_of(1, &[1, 2, 3]),
            queue_of(2, &[4, 5]),
            queue_of(3, &[9, 10]),
        ];
        let chosen = share.choose(queues, 10);
        assert_eq!(tasks(&chosen), [100, 300, 200, 301, 101]);
        assert!(!share.may_run(2) && share.may_run(3));
        share.add_project("b", None);
        assert!(!share.may_run(3), "another hub assigns the tasks of `b`");
    }
}
