//! The frame of every page, and small values that most pages show.

use jiff::Timestamp;
use selvedge_core::model::{Cost, ReviewTarget};

use crate::backend::{DashboardUser, DisplayStatus};

/// The section of the dashboard that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NavItem {
    /// Tasks.
    Tasks,
    /// Retry statistics.
    Stats,
    /// Workers.
    Fleet,
    /// No section.
    Other,
}

/// The frame of a page.
#[derive(Debug, Clone)]
pub(crate) struct PageFrame {
    /// Title of the page.
    pub(crate) title: String,
    /// Section of the page.
    pub(crate) nav_item: NavItem,
    /// Name of the user; `None` before login.
    pub(crate) user_name: Option<String>,
    /// CSRF token for the page's forms.
    pub(crate) csrf: String,
    /// Whether there are workers to show.
    pub(crate) has_fleet: bool,
    /// URL of the page's update stream; empty if it has none.
    pub(crate) live: String,
    /// Change token that updates are compared with.
    pub(crate) pulse: String,
    /// Version of the assets.
    pub(crate) version: &'static str,
    /// Name of the icon of the browser's tab: `icon`, or `icon-` and a state.
    pub(crate) icon: &'static str,
    /// Colour scheme: `light` or `dark`; empty for the system's.
    pub(crate) theme: &'static str,
}

impl PageFrame {
    /// Frame for a page of this user.
    pub(crate) fn new(
        title: impl Into<String>,
        here: NavItem,
        user: Option<&DashboardUser>,
    ) -> Self {
        Self {
            title: title.into(),
            nav_item: here,
            user_name: user.map(|it| crate::text::single_line(&it.name, 40)),
            csrf: String::new(),
            has_fleet: false,
            live: String::new(),
            pulse: String::new(),
            version: crate::assets::VERSION.as_str(),
            icon: "icon",
            theme: "",
        }
    }

    pub(crate) fn is_tasks(&self) -> bool {
        self.nav_item == NavItem::Tasks
    }

    pub(crate) fn is_stats(&self) -> bool {
        self.nav_item == NavItem::Stats
    }

    pub(crate) fn is_fleet(&self) -> bool {
        self.nav_item == NavItem::Fleet
    }
}

/// A time: exact for programs, relative for readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TimeLabel {
    /// With its time zone, as in the journal.
    pub(crate) exact: String,
    /// "3 min ago".
    pub(crate) ago: String,
}

impl TimeLabel {
    pub(crate) fn of(at: Timestamp, now: Timestamp) -> Self {
        let seconds = now.duration_since(at).as_secs().max(0);
        let ago = match seconds {
            0..60 => format!("{seconds} s ago"),
            60..3600 => format!("{} min ago", seconds / 60),
            3600..86_400 => format!("{} h ago", seconds / 3600),
            86_400..172_800 => "1 day ago".to_owned(),
            _ => format!("{} days ago", seconds / 86_400),
        };
        Self {
            exact: at.to_string(),
            ago,
        }
    }
}

/// The status of a task, as a coloured label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatusBadge {
    /// A class of the stylesheet.
    pub(crate) group: &'static str,
    /// Name of its icon.
    pub(crate) icon: &'static str,
    /// Label for people.
    pub(crate) word: String,
}

impl From<DisplayStatus> for StatusBadge {
    fn from(status: DisplayStatus) -> Self {
        Self {
            group: status.group(),
            icon: status.icon(),
            word: status.word(),
        }
    }
}

/// The work that a review decides on, with the beginning of the tree's id.
pub(crate) fn reviewed_work(target: &ReviewTarget) -> String {
    let tree = target.tree.as_ref().map(|tree| {
        let short: String = tree.as_str().chars().take(12).collect();
        format!("tree {short}")
    });
    match (target.attempt, tree) {
        (Some(attempt), Some(tree)) => format!("attempt {attempt} ({tree})"),
        (Some(attempt), None) => format!("attempt {attempt}"),
        (None, Some(tree)) => tree,
        (None, None) => target.to_string(),
    }
}

/// The cost of a task for a table column. Before the first session has ended there is none to show.
pub(crate) fn cost_so_far(cost: Cost, status: DisplayStatus) -> String {
    let is_open = !matches!(status, DisplayStatus::Finished(_) | DisplayStatus::Accepted);
    let is_zero = cost.micro_usd.is_none_or(|amount| amount.0 == 0);
    if is_open && is_zero {
        "–".to_owned()
    } else {
        short_cost(cost)
    }
}

/// Short cost for a table column, with a mark if it is uncertain.
pub(crate) fn short_cost(cost: Cost) -> String {
    use selvedge_core::model::CostSource as S;
    let Some(amount) = cost.micro_usd else {
        return "unknown".to_owned();
    };
    let usd = match amount.as_usd() {
        usd if usd >= 10.0 => format!("${usd:.2}"),
        usd => format!("${usd:.4}"),
    };
    match cost.source {
        S::Reported => usd,
        S::Estimated => format!("≈ {usd}"),
        S::Unknown => format!("≥ {usd}"),
    }
}

/// Short number of tokens for a table column: "812", "4.1k", "2.3M".
pub(crate) fn short_count(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
