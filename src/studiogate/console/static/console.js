// What every page of the console does: toasts that leave, a question before typed text is lost, drawers, no form sent
// twice, previews of what a form would do, keys for results, a notice when the network is gone, faults at their fields, the chosen tab in view.

import "./toasts.js";
import "./unsaved.js";
import "./drawers.js";
import "./forms.js";
import "./previews.js";
import "./results.js";
import "./network.js";
import "./faults.js";
import "./palette.js";
import "./resume.js";
import "./tabs.js";
