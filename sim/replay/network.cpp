#include "replay/network.h"

#include <xbt/log.h>

#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

#include "base/errors.h"

namespace shardsim {
namespace {

namespace routing = simgrid::kernel::routing;
using LinkImpl = simgrid::kernel::resource::StandardLinkImpl;

// A zone whose only route is whatever list of links stands in it at the moment.
class RouteZone : public routing::NetZoneImpl {
 public:
  explicit RouteZone(const std::string& name) : NetZoneImpl(name) {}
  void get_local_route(const routing::NetPoint* /*from*/, const routing::NetPoint* /*to*/,
                       routing::Route* into, double* /*latency*/) override {
    into->link_list_ = links;
  }
  std::vector<LinkImpl*> links;
};

// The defaults model TCP: 1.23 s instead of 1.00005 s for 50 GB on a 50 GB/s link (measured on
// 3.32). These make a flow take amount / fair share, exactly. They hold only if set before the
// first zone is made.
void configure() {
  for (const char* setting :
       {"network/model:CM02", "network/crosstraffic:no", "network/TCP-gamma:1e30",
        "network/optim:Lazy", "maxmin/precision:1e-12", "surf/precision:1e-12"}) {
    simgrid::s4u::Engine::set_config(std::string(setting));
  }
}

// The one engine that this process may ever have: a second one would start at the first one's
// clock.
simgrid::s4u::Engine* make_only_engine() {
  static bool made = false;
  SHARDSIM_CHECK(!made && !simgrid::s4u::Engine::is_initialized(),
                 "a process can replay once; use replay_in_child");
  made = true;
  xbt_log_control_set("root.thresh:critical");
  static std::string program = "shardsim";
  static char* arguments[] = {program.data(), nullptr};
  int argument_count = 1;
  return new simgrid::s4u::Engine(&argument_count, arguments);
}

}  // namespace

struct Network::Engine {
  std::unique_ptr<simgrid::s4u::Engine> engine{make_only_engine()};
  RouteZone* zone = nullptr;  // owned by the engine
  simgrid::s4u::Host* source = nullptr;
  simgrid::s4u::Host* destination = nullptr;
  std::vector<LinkImpl*> links;
  std::function<void(std::int64_t)> ended;
  // Flows are the only actions there are.
  [[nodiscard]] simgrid::kernel::resource::Action& last_started() const {
    for (simgrid::kernel::resource::Model* model : engine->get_all_models()) {
      if (!model->get_started_action_set()->empty()) {
        return model->get_started_action_set()->back();
      }
    }
    SHARDSIM_CHECK(false, "a flow was started and is not there");
  }
  // A flow dropped before its completion callback has returned crashes SimGrid, so ended ones are
  // kept until the clock moves.
  std::vector<simgrid::s4u::CommPtr> ended_flows;
};

Network::Network(const std::vector<BytesPerSecond>& capacities, double scale)
    : engine_(std::make_unique<Engine>()) {
  configure();
  engine_->zone = new RouteZone("job");
  auto* zone = engine_->zone->get_iface();
  engine_->source = zone->create_host("source", 1.0);
  engine_->destination = zone->create_host("destination", 1.0);
  engine_->links.reserve(capacities.size());
  for (std::size_t i = 0; i < capacities.size(); ++i) {
    const double capacity = capacities[i].value() * scale;
    SHARDSIM_CHECK(capacity > 0, "a link that carries flows has no capacity");
    auto* link = zone->create_link(std::to_string(i), capacity);
    engine_->links.push_back(link->set_latency(0.0)->get_impl());
  }
  zone->seal();
  simgrid::s4u::Activity::on_completion_cb([this](const simgrid::s4u::Activity& activity) {
    auto* flow = const_cast<simgrid::s4u::Activity*>(&activity);
    engine_->ended_flows.emplace_back(static_cast<simgrid::s4u::Comm*>(flow), false);
    engine_->ended(reinterpret_cast<std::intptr_t>(activity.get_data<void>()));
  });
  simgrid::s4u::Engine::on_time_advance_cb([this](double) { engine_->ended_flows.clear(); });
}

Network::~Network() { engine_->ended_flows.clear(); }

void Network::on_flow_end(std::function<void(std::int64_t)> ended) {
  engine_->ended = std::move(ended);
}

void Network::start_flow(const std::vector<RouteUse>& route, std::uint64_t scaled_amount,
                         std::int64_t share, std::int64_t tag) {
  std::vector<LinkImpl*>& links = engine_->zone->links;
  for (const RouteUse& use : route) {
    links.insert(links.end(), static_cast<std::size_t>(use.weight),
                 engine_->links[static_cast<std::size_t>(use.link)]);
  }
  simgrid::s4u::CommPtr flow = simgrid::s4u::Comm::sendto_init();
  flow->set_payload_size(scaled_amount);
  // SimGrid never follows the pointer: it is the tag itself.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  flow->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(tag)));
  flow->set_source(engine_->source);
  flow->set_destination(engine_->destination);  // starts it and reads the route
  links.clear();
  if (share > 1) {
    engine_->last_started().set_sharing_penalty(1.0 / static_cast<double>(share));
  }
  // The reference that the completion callback adopts.
  flow.detach();
}

double Network::now_s() const { return simgrid::s4u::Engine::get_clock(); }

void Network::run() { engine_->engine->run(); }

}  // namespace shardsim
