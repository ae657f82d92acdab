// The routes of the management interface, a file for each kind of object.
#pragma once

#include <string>

namespace ringtail::broker::http {

class Call;
class Router;

void add_overview_routes(Router& router);
void add_node_routes(Router& router);
void add_node_limit_routes(Router& router);
void add_health_routes(Router& router);
void add_certificate_routes(Router& router);
void add_user_routes(Router& router);
void add_permission_routes(Router& router);
void add_vhost_routes(Router& router);
void add_policy_routes(Router& router);
void add_parameter_routes(Router& router);
void add_queue_routes(Router& router);
void add_exchange_routes(Router& router);
void add_binding_routes(Router& router);
void add_connection_routes(Router& router);
void add_definition_routes(Router& router);
void add_app_routes(Router& router);
// All of them.
void add_routes(Router& router);

// As it was set over HTTP, else as configured.
std::string cluster_name(Call& call);

}  // namespace ringtail::broker::http
